//! Touches: every outside program and service.
