-- What all runs spent on each local calendar day, by driver. Deleting a run leaves it unchanged.

CREATE TABLE spending (
    day      TEXT    NOT NULL,
    driver   TEXT    NOT NULL,
    turns    INTEGER NOT NULL,
    tokens   INTEGER NOT NULL,
    cost_usd REAL    NOT NULL,
    PRIMARY KEY (day, driver)
) WITHOUT ROWID;
