-- +goose Up

-- One row a lock. A row is never deleted when its lock is released: the next token must be larger.
-- Nothing but the primary key is indexed, and pages are left half empty, so that each renewal is a
-- heap-only update.
CREATE TABLE rowlock_lease (
    namespace   text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    token       bigint      NOT NULL, -- of the present grant, or the last one
    nonce       uuid,                 -- of the present grant; NULL once it is released
    holder      text        NOT NULL, -- who, for people
    note        text        NOT NULL, -- why, for people
    acquired_at timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL, -- the lease ends here unless it is renewed
    held_until  timestamptz NOT NULL, -- from here on the lock can be granted to somebody else; 1970 once it is released and kept for nobody,
                                      -- so that it is free whatever the clock says
    PRIMARY KEY (namespace, name)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

-- One row: what is true of all locks.
CREATE TABLE rowlock_lease_meta (
    id                smallint    PRIMARY KEY CHECK (id = 1),
    floor             bigint      NOT NULL, -- every token granted from now on is larger
    epoch             text        NOT NULL, -- the server that grants; empty before the first grant
    quarantined_until timestamptz NOT NULL, -- nothing is granted before
    longest_ttl_us    bigint      NOT NULL, -- no lease was ever granted for longer, in microseconds
    schema_version    integer     NOT NULL
);

INSERT INTO rowlock_lease_meta (id, floor, epoch, quarantined_until, longest_ttl_us, schema_version)
VALUES (1, 0, '', '-infinity', 60000000, 1);

-- +goose Down

DROP TABLE rowlock_lease_meta;
DROP TABLE rowlock_lease;
