-- +goose Up

-- The locks: one row for each name that was ever locked. A release does not delete the row, because the lock's next
-- token must be larger than the token in the row. The primary key is the only index, and pages stay half empty,
-- so that each renewal is a heap-only (HOT) update.
CREATE TABLE rowlock_lease (
    namespace    text COLLATE "C" NOT NULL,
    name         text COLLATE "C" NOT NULL,
    token        bigint      NOT NULL, -- the token of the newest grant, which may have ended; 0 if the lock was never granted
    nonce        uuid        NULL,     -- the nonce of the request that was granted; NULL after the release
    holder       text        NOT NULL, -- the holder's description of itself, for people
    note         text        NOT NULL, -- why the lock is held, for people
    acquired_at  timestamptz NOT NULL, -- when the lock was granted
    expires_at   timestamptz NOT NULL, -- when the lease ends, unless the holder renews it before
    held_until   timestamptz NOT NULL, -- until this time no other holder is granted the lock. A release sets the end of the reservation or
                                       -- of the minimum hold. Without either it sets 1970, so that the lock is free even if the clock is set back
    reserved_for uuid        NULL,     -- the waiter for which the last release reserved the lock until held_until (for 50 ms); NULL if there is no reservation
    done         text        NULL,     -- the last tick that a release recorded as done; NULL if there is none
    readers      jsonb       NULL,     -- the leases of the readers that hold the lock: an object with the nonce of each lease as key, and the
                                       -- expiry of the lease in microseconds since 1970 as value. NULL if no reader holds the lock. While readers
                                       -- hold the lock, nonce contains the token, and expires_at and held_until are the last expiry of these leases
    writer_until timestamptz NULL,     -- until this time no further reader is granted the lock, because writers wait; NULL if no writer waits
    writers      uuid[]      NULL,     -- until writer_until: the nonces of these writers. A writer that gives up removes its nonce. After writer_until the column has no meaning
    PRIMARY KEY (namespace, name)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

-- One row with the state that all locks share.
CREATE TABLE rowlock_lease_meta (
    id                smallint    PRIMARY KEY CHECK (id = 1),
    floor             bigint      NOT NULL, -- every future grant has a larger token than this number
    epoch             text        NOT NULL, -- identifies the server that grants the locks: system identifier/timeline/start; empty before the first grant
    quarantined_until timestamptz NOT NULL, -- until this time no lock is granted, because another server has begun to grant locks
    -- The largest TTL plus hand-over delay, or minimum hold, of all grants so far, in microseconds; at least a minute. When another
    -- server begins to grant locks, no lock is granted for this time, because the new server may not know the last grants.
    longest_ttl_us    bigint      NOT NULL
);

INSERT INTO rowlock_lease_meta (id, floor, epoch, quarantined_until, longest_ttl_us)
VALUES (1, 0, '', '-infinity', 60000000);

-- Returns true if this server has the timeline and the start time in the column epoch. The last 25 characters
-- of that column are the timeline (8 digits), a slash, and the start time (16 digits). The function does not compare the
-- system identifier, because reading the identifier opens a file (8 us). Callers read the identifier only if the timeline or
-- the start time has changed. pg_control_checkpoint() would be cheaper than pg_walfile_name(), but still returns the
-- old timeline for some time after a promotion. The function must be VOLATILE, because it calls volatile functions:
-- otherwise PostgreSQL does not inline it.
CREATE FUNCTION rowlock_lease_same_epoch(epoch text) RETURNS boolean LANGUAGE sql VOLATILE AS
    'SELECT right($1, 25) = left(pg_walfile_name(pg_current_wal_lsn()), 8) || ''/'' || encode(timestamptz_send(pg_postmaster_start_time()), ''hex'')';

-- The queues: one row for each pair of a waiting process and a lock's name. A release chooses the process that has
-- waited longest. If rows are lost, waiters only wait longer. So the table can be UNLOGGED.
CREATE UNLOGGED TABLE rowlock_lease_waiter (
    namespace   text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    since       timestamptz NOT NULL, -- when the row was last put into the queue
    id          uuid        NOT NULL, -- a random id of this row
    channel     text COLLATE "C" NOT NULL, -- the channel on which the process listens for notifications; empty if the process does not listen
    alive_until timestamptz NOT NULL, -- when the process counts as dead, unless it confirms before that it still waits: 3 s after a confirmation, or 35 s if a session that listens holds the advisory lock of the channel; while more than 3 s are left, releases check that the session lives
    callable    boolean     NOT NULL DEFAULT true, -- true if a release may choose the process as the next holder; false after the process was granted the lock or has missed its reservation, until its next request is refused
    -- The columns from here on are the waiter's request for the lock. A release can grant this request in the statement that releases the lock.
    nonce       uuid        NULL,                -- the nonce of the request; NULL if the waiter has stored no request
    holder      text        NOT NULL DEFAULT '',
    note        text        NOT NULL DEFAULT '',
    ttl_us      bigint      NOT NULL DEFAULT 0,  -- the TTL; this column and the next two are in microseconds
    min_hold_us bigint      NOT NULL DEFAULT 0,
    handover_us bigint      NOT NULL DEFAULT 0,  -- the hand-over delay
    PRIMARY KEY (namespace, name, since, id)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

-- +goose Down

DROP TABLE rowlock_lease_waiter;
DROP FUNCTION rowlock_lease_same_epoch(text);
DROP TABLE rowlock_lease_meta;
DROP TABLE rowlock_lease;
