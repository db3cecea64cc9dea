//go:build linux

package main

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// openApart keeps the locks in Postgres and the data in a SQLite file. So a failover that loses the last writes of the locks does
// not lose writes of the data.
func openApart(j job) (*client, error) {
	c, db, err := newClient(sqliteData, sqliteDSN(j.Data))
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(context.Background(), postgresDSN(j.Nodes[0])+"&pool_max_conns=12")
	if err != nil {
		return nil, err
	}
	c.then(pool.Close)
	c.backend = sqllock.Pgx(pool)
	return c.guarded(db), nil
}

// makeLocks creates the tables of the locks, and records that no lease was ever granted. After a failover, a store
// grants nothing for the duration of the longest lease. Without this record, the store would assume that the longest
// lease is a minute, and the run would test nothing in that minute.
func makeLocks(ctx context.Context, addrs []string) error {
	db, err := sql.Open("pgx", postgresDSN(addrs[0]))
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the handle is no longer needed
	if err := migrations.Up(ctx, db, migrations.Postgres); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "UPDATE rowlock_lease_meta SET longest_ttl_us = 1")
	return err
}
