-- The table that records every write that the database accepted.
CREATE TABLE torture_ledger (
    seq      bigserial PRIMARY KEY,
    resource text      NOT NULL,
    token    bigint    NOT NULL,
    nonce    text      NOT NULL,
    worker   integer   NOT NULL,
    read_val bigint    NOT NULL,
    new_val  bigint    NOT NULL
)
-- next
CREATE INDEX torture_ledger_end ON torture_ledger (resource, seq)
