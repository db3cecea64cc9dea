package postgres

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/internal/bounded"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// handle contains what differs between a handle of database/sql and a pool of pgx.
type handle struct {
	q       sqlbase.Querier
	usage   func() sqlbase.Usage
	reserve *sqlbase.Reserve
	open    func(context.Context) (ear, error)
	hears   bool

	warnings []string
}

// OverSQL returns a backend that uses a handle of database/sql.
func OverSQL(db *sql.DB, t sqltable.Table) *Backend {
	return newBackend(handle{
		q: querierOn(db), usage: func() sqlbase.Usage { return sqlbase.UsageOf(db) }, reserve: sqlbase.ReserveFor(db, querierOn),
		open: openSQL(db), hears: bounded.IsPgx(db), warnings: sqlbase.WarningsOf(db),
	}, t)
}

// OverPgx returns a backend that uses a pool of pgx.
func OverPgx(pool *pgxpool.Pool, t sqltable.Table) *Backend {
	return newBackend(handle{
		q: pgxPool{pool: pool}, usage: func() sqlbase.Usage { return usageOf(pool) }, reserve: reserveFor(pool),
		open: openPgx(pool), hears: true,
	}, t)
}
