-- What the run was asked, for lists; and on which machine its owner is.

ALTER TABLE run ADD COLUMN input TEXT NOT NULL DEFAULT '';
ALTER TABLE lease ADD COLUMN machine TEXT NOT NULL DEFAULT '';
CREATE INDEX inbox_pending ON inbox (run_no, place) WHERE taken IS NULL;
