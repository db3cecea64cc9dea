package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

const (
	twoUpdatesPgx    = "two bare updates, pgx"
	waitingAdvisory  = "pg_advisory_lock, which waits"
	countsStatements = "SELECT sum(calls) FROM pg_stat_statements"
)

func postgresStore() store {
	return store{
		id: "postgres", title: "PostgreSQL", product: "PostgreSQL", serve: environment(testserver.Postgres), prepare: preparePostgres,
		serveCounted: countedPostgres, counted: "statements", count: countSQL("pgx", countsStatements),
		sql: &dialect{
			driver: "pgx", backend: sqllock.Postgres, guard: fence.Postgres, rows: "lease row, pgx",
			fresh: freshPostgres, name: "'lock ' || (token + %d)",
			touch: "UPDATE rowlock_lease SET token = token + 1 WHERE namespace = '' AND name = $1",
			tidy:  []string{"VACUUM ANALYZE rowlock_lease", "CHECKPOINT"},
			bloat: bloat{testserver.Postgres, "SELECT pg_relation_size('rowlock_lease'), pg_indexes_size('rowlock_lease')",
				"SELECT n_tup_hot_upd::float / n_tup_upd FROM pg_stat_user_tables WHERE relname = 'rowlock_lease'"},
		},
		many:    []string{"lease row, pgx", "advisory, pgx"},
		modules: []string{"github.com/jackc/pgx/v5", "cirello.io/pglock", "github.com/allisson/go-pglock/v3", "github.com/pressly/goose/v3"},
		version: func(ctx context.Context, at []string) (string, error) {
			return askSQL(ctx, "pgx", at[0], "SELECT split_part(current_setting('server_version'), ' ', 1)")
		},
		locks: []lock{
			pgxUpdates(), passedByNotify(),
			twoUpdates("pgx", "INSERT INTO bench_bare VALUES ($1, 0) ON CONFLICT DO NOTHING", "UPDATE bench_bare SET n = n + 1 WHERE id = $1"),
			waitingStatements(waitingAdvisory, "pgx",
				func(name string) string {
					return fmt.Sprintf("SELECT 1 FROM (SELECT pg_advisory_lock(%d)) l", number(name))
				},
				func(name string) string { return fmt.Sprintf("SELECT pg_advisory_unlock(%d)::int", number(name)) }),
			ours("lease row, pgx", twoUpdatesPgx, byPgx(func(pool *pgxpool.Pool) *sqllock.Backend { return sqllock.Pgx(pool) })),
			ours("lease row, database/sql", twoUpdatesSQL, bySQL("pgx", func(db *sql.DB) *sqllock.Backend { return sqllock.Postgres(db) })),
			ours("advisory, pgx", waitingAdvisory, byPgx(func(pool *pgxpool.Pool) *advisory.Backend { return advisory.New(pool) })),
			ours("advisory without tokens, pgx", waitingAdvisory,
				byPgx(func(pool *pgxpool.Pool) *advisory.Backend { return advisory.New(pool, advisory.NoToken()) })),
			ours("advisory, database/sql", waitingAdvisory, bySQL("pgx", func(db *sql.DB) *advisory.Backend { return advisory.NewDB(db) })),
			pglockPeer(), goPglockPeer(), gooseSession(), gooseTable("pgx", newGoosePostgres),
		},
	}
}

// freshPostgres creates another database on the same server.
func freshPostgres(ctx context.Context, _ *world, at, name string) (string, error) {
	db, err := sql.Open("pgx", at)
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }()
	for _, statement := range []string{"DROP DATABASE IF EXISTS " + name + " WITH (FORCE)", "CREATE DATABASE " + name} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return "", err
		}
	}
	u, err := url.Parse(at)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// countedPostgres returns the address of a server that counts statements. If the server from the environment does not
// count them, countedPostgres starts another one.
func countedPostgres(ctx context.Context, w *world) ([]string, error) {
	at, err := environment(testserver.Postgres)(ctx, w)
	if err != nil {
		return nil, err
	}
	if _, err := askSQL(ctx, "pgx", at[0], countsStatements); err == nil {
		return at, nil
	}
	return w.started(ctx, "counted postgres", testserver.Postgres, 1,
		testserver.Options{Durable: true, Args: []string{"-c", "shared_preload_libraries=pg_stat_statements"}})
}

func preparePostgres(ctx context.Context, at []string) error {
	if err := migrate(ctx, "pgx", at[0], migrations.Postgres); err != nil {
		return err
	}
	if _, err := askSQL(ctx, "pgx", at[0], passedTable); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	// The result is ignored: this statement fails if the server did not load the extension when it started.
	// countedPostgres then uses another server.
	_, _ = askSQL(ctx, "pgx", at[0], "CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
	_ = preparePglock(at) // ignores the error, because measuring the lock returns it again
	_ = prepareGoose(ctx, "pgx", at, newGoosePostgres)
	return nil
}

func byPgx[B driver.Backend](backend func(*pgxpool.Pool) B) func(context.Context, []string) (driver.Backend, func(), error) {
	return func(ctx context.Context, at []string) (driver.Backend, func(), error) {
		config, err := pgxpool.ParseConfig(at[0])
		if err != nil {
			return nil, nil, err
		}
		if poolLimit > 0 {
			config.MaxConns = int32(poolLimit)
		}
		pool, err := pgxpool.NewWithConfig(ctx, config)
		if err != nil {
			return nil, nil, err
		}
		return backend(pool), pool.Close, nil
	}
}

// pgxUpdates measures with pgx what twoUpdates measures with database/sql.
func pgxUpdates() lock {
	return lock{name: twoUpdatesPgx, kind: report.Floor, floor: twoUpdatesPgx, alone: true, half: true,
		open: func(ctx context.Context, at []string, t task) (*party, error) {
			conn, err := pgx.Connect(ctx, at[0])
			if err != nil {
				return nil, err
			}
			id, leave := number(t.Name), func() { _ = conn.Close(context.WithoutCancel(ctx)) }
			bare := func(ctx context.Context) error {
				_, err := conn.Exec(ctx, "UPDATE bench_bare SET n = n + 1 WHERE id = $1", id)
				return err
			}
			if _, err := conn.Exec(ctx, "INSERT INTO bench_bare VALUES ($1, 0) ON CONFLICT DO NOTHING", id); err != nil {
				leave()
				return nil, err
			}
			return single(leave, bare, bare), nil
		}}
}
