-- The log and what stands around it. Bodies are opaque to the database.

CREATE TABLE run (
    run_no     INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    workflow   TEXT    NOT NULL,
    workspace  TEXT    NOT NULL,
    driver     TEXT    NOT NULL,
    status     TEXT    NOT NULL,
    reason     TEXT,
    iteration  INTEGER NOT NULL,
    cost_usd   REAL,
    started_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL
);

-- pos = run_no << 32 | seq: one B-tree without an index, appended to at the end of each run.
CREATE TABLE event (
    pos  INTEGER PRIMARY KEY,
    body BLOB NOT NULL
);

CREATE TABLE snapshot (
    run_no INTEGER PRIMARY KEY,
    seq    INTEGER NOT NULL,
    body   BLOB    NOT NULL
);

CREATE TABLE lease (
    run_no INTEGER PRIMARY KEY,
    owner  TEXT    NOT NULL,
    epoch  INTEGER NOT NULL
);

-- A request stays as a row after it was taken (without its body), so that the same id sent
-- again is still known.
CREATE TABLE inbox (
    place  INTEGER PRIMARY KEY,
    run_no INTEGER NOT NULL,
    id     TEXT    NOT NULL,
    body   BLOB    NOT NULL,
    taken  INTEGER,
    UNIQUE (run_no, id)
);
