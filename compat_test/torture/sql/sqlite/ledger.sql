-- The table that records every write that the database accepted.
CREATE TABLE torture_ledger (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    resource TEXT    NOT NULL,
    token    INTEGER NOT NULL,
    nonce    TEXT    NOT NULL,
    worker   INTEGER NOT NULL,
    read_val INTEGER NOT NULL,
    new_val  INTEGER NOT NULL
)
-- next
CREATE INDEX torture_ledger_end ON torture_ledger (resource, seq)
