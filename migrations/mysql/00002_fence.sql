-- +goose Up

-- The marks of package fence: one row for each resource that package fence protects, with the token of the newest
-- holder that has sealed. If a row were deleted, the resource would accept an older holder again. So a row stays
-- until a guard's Prune deletes it.
CREATE TABLE IF NOT EXISTS rowlock_lease_fence (
    namespace VARBINARY(128)  NOT NULL,
    resource  VARBINARY(512)  NOT NULL,
    token     BIGINT          NOT NULL, -- the token of the lease that has sealed last; 0 after a reset
    nonce     CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- the nonce of the lease that has sealed last
    domain    VARBINARY(1024) NOT NULL, -- the token domain: the kind of store and the lock that the token comes from. Tokens of two
                                        -- domains are never compared. Empty after a reset: the next seal sets the domain
    era       BIGINT          NOT NULL DEFAULT 0, -- the number of times that an operator has reset the mark
    sealed_at DATETIME(6)     NOT NULL, -- when the mark was sealed or reset, for people
    PRIMARY KEY (namespace, resource)
) ENGINE = InnoDB;

-- The outcomes of package fence's transactions. Each transaction writes its number into a row, called a slot,
-- that no concurrent transaction uses. If the reply to a commit is lost, the number in the slot tells whether the
-- transaction was committed. Later transactions reuse the slots, so the table has about as many rows as there are
-- concurrent transactions.
CREATE TABLE IF NOT EXISTS rowlock_lease_outcome (
    slot         CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    operation    BIGINT      NOT NULL, -- the number of the last committed transaction that used the slot
    committed_at DATETIME(6) NOT NULL  -- when that transaction wrote the row
) ENGINE = InnoDB;

-- The sessions that may write to protected tables without a check. A session inserts a row for itself,
-- and deletes the row before it commits. Every user with the privilege INSERT on this table can bypass the check in
-- this way.
CREATE TABLE IF NOT EXISTS rowlock_lease_fence_pass (
    connection_id BIGINT UNSIGNED NOT NULL PRIMARY KEY, -- CONNECTION_ID() of the session
    why           VARCHAR(255)    NOT NULL              -- why the session writes without a check, for people
) ENGINE = InnoDB;

-- +goose Down

DROP TABLE IF EXISTS rowlock_lease_fence_pass;
DROP TABLE IF EXISTS rowlock_lease_outcome;
DROP TABLE IF EXISTS rowlock_lease_fence;
