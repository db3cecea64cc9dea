package main

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/sqllock"
)

// fencedPgx measures with a pgx pool what fences measures with database/sql.
func fencedPgx(ctx context.Context, dsn string) ([]contender, error) {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return nil, err
	}
	f, err := openFenced(ctx, "pgx", db, sqllock.Pgx(pool),
		func(opts ...fence.Option) *fence.Guard { return fence.Pgx(pool, opts...) })
	if err != nil {
		return nil, err
	}
	guard, held := f.guard(), f.lease.Context()
	transaction := func(check func(pgx.Tx) error) func(context.Context) error {
		return func(ctx context.Context) error {
			return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
				if check != nil {
					if err := check(tx); err != nil {
						return err
					}
				}
				_, err := tx.Exec(ctx, update)
				return err
			})
		}
	}
	tx := func(context.Context) error {
		return guard.TxPgx(held, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, update)
			return err
		})
	}
	const bare = "pgx: no fence"
	return []contender{
		{name: bare, kind: report.Floor, floor: bare, cycle: transaction(nil), close: pool.Close},
		{name: "pgx: Check", kind: report.Rowlock, floor: bare, cycle: transaction(func(tx pgx.Tx) error { return guard.CheckPgx(held, tx) })},
		{name: "pgx: CheckHeld", kind: report.Rowlock, floor: bare, cycle: transaction(func(tx pgx.Tx) error { return guard.CheckHeldPgx(held, tx) })},
		{name: "pgx: Tx", kind: report.Rowlock, floor: bare, cycle: tx},
	}, nil
}
