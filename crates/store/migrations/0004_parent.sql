-- The run that started a run, for lists.

ALTER TABLE run ADD COLUMN parent TEXT;
