-- The table that records every write that the database accepted.
CREATE TABLE torture_ledger (
    seq      BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    resource VARCHAR(100) NOT NULL,
    token    BIGINT       NOT NULL,
    nonce    CHAR(36)     NOT NULL,
    worker   INT          NOT NULL,
    read_val BIGINT       NOT NULL,
    new_val  BIGINT       NOT NULL,
    INDEX torture_ledger_end (resource, seq)
) ENGINE = InnoDB
