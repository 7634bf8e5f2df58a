//! Runs: commits decisions, performs effects, supervises and recovers.
