-- +goose Up

-- The marks of package fence: one row for each resource that it protects, with the token of the newest holder that sealed it.
-- Without its mark a resource accepts an older holder again. So a row stays.
CREATE TABLE IF NOT EXISTS rowlock_lease_fence (
    namespace VARBINARY(128)  NOT NULL,
    resource  VARBINARY(512)  NOT NULL,
    token     BIGINT          NOT NULL, -- the token of the lease that sealed last; 0 after a reset
    nonce     CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- the nonce of that lease
    domain    VARBINARY(1024) NOT NULL, -- where the token comes from: the kind of store and the lock; tokens of two domains are
                                        -- never compared; empty after a reset: then the next seal decides
    era       BIGINT          NOT NULL DEFAULT 0, -- how many times an operator has reset the mark
    sealed_at DATETIME(6)     NOT NULL, -- when the mark was sealed or reset, for people
    PRIMARY KEY (namespace, resource)
) ENGINE = InnoDB;

-- The outcomes of package fence's transactions. Each transaction writes its number into a slot that no other transaction uses at that time.
-- If the reply to a commit is lost, the slot says whether the transaction was committed. Slots are used again, so there are about as
-- many as transactions at a time.
CREATE TABLE IF NOT EXISTS rowlock_lease_outcome (
    slot         CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    operation    BIGINT      NOT NULL, -- the number of the last transaction that was committed with the slot
    committed_at DATETIME(6) NOT NULL  -- when that transaction wrote the row
) ENGINE = InnoDB;

-- The sessions that may write to protected tables without a check. A session inserts itself, and deletes itself before it commits.
-- Every user with INSERT on this table can do so.
CREATE TABLE IF NOT EXISTS rowlock_lease_fence_pass (
    connection_id BIGINT UNSIGNED NOT NULL PRIMARY KEY, -- CONNECTION_ID() of the session
    why           VARCHAR(255)    NOT NULL              -- for people
) ENGINE = InnoDB;

-- +goose Down

DROP TABLE IF EXISTS rowlock_lease_fence_pass;
DROP TABLE IF EXISTS rowlock_lease_outcome;
DROP TABLE IF EXISTS rowlock_lease_fence;
