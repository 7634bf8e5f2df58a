-- What is known about the cost of a run: whether a part of it follows from prices, and whether a part of it is
-- unknown.

ALTER TABLE run ADD COLUMN cost_computed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN cost_partial INTEGER NOT NULL DEFAULT 0;

-- The time for which the processes of turns ran.

ALTER TABLE spending ADD COLUMN time_ms INTEGER NOT NULL DEFAULT 0;
