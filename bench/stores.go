package main

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// stores opens every store that there is.
func stores(ctx context.Context) ([]store, error) {
	var all []store
	add := func(s store, err error) error {
		if err == nil {
			all = append(all, s)
		}
		return err
	}
	if dsn := os.Getenv("ROWLOCK_TEST_POSTGRES"); dsn != "" {
		if err := add(openPgx(ctx, dsn)); err != nil {
			return nil, err
		}
		if err := add(openSQL(ctx, "PostgreSQL, database/sql", "pgx", dsn, migrations.Postgres, "UPDATE bench_bare SET n = n + 1 WHERE id = $1", sqllock.Postgres)); err != nil {
			return nil, err
		}
	}
	for _, server := range []struct{ name, variable string }{{"MySQL", "ROWLOCK_TEST_MYSQL"}, {"MariaDB", "ROWLOCK_TEST_MARIADB"}} {
		dsn := os.Getenv(server.variable)
		if dsn == "" {
			continue
		}
		if err := add(openSQL(ctx, server.name, "mysql", dsn, migrations.MySQL, bareUpdate, sqllock.MySQL)); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp("", "rowlock-bench")
	if err != nil {
		return nil, err
	}
	dsn := "file:" + filepath.Join(dir, "bench.db") + "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)"
	s, err := openSQL(ctx, "SQLite", "sqlite", dsn, migrations.SQLite, bareUpdate, sqllock.SQLite)
	closeDB := s.close
	s.close = func() {
		closeDB()
		_ = os.RemoveAll(dir)
	}
	return all, add(s, err)
}

const bareUpdate = "UPDATE bench_bare SET n = n + 1 WHERE id = ?"

// openSQL opens a database with one connection, which the bare updates and the locker share.
func openSQL(ctx context.Context, name, driverName, dsn string, dialect migrations.Dialect, update string,
	open func(*sql.DB, ...sqllock.Option) *sqllock.Backend,
) (store, error) {
	db, err := sql.Open(driverName, dsn)
	if err != nil {
		return store{}, err
	}
	if err := prepare(ctx, db, dialect); err != nil {
		return store{}, err
	}
	db.SetMaxOpenConns(1)
	stmt, err := db.PrepareContext(ctx, update)
	if err != nil {
		return store{}, err
	}
	bare := func(ctx context.Context) error {
		_, err := stmt.ExecContext(ctx, 1)
		return err
	}
	return compare(name, bare, open(db), func() { _ = db.Close() })
}

// openPgx does the same by a pgx pool, whose connection prepares what it is asked twice.
func openPgx(ctx context.Context, dsn string) (store, error) {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return store{}, err
	}
	defer func() { _ = db.Close() }()
	if err := prepare(ctx, db, migrations.Postgres); err != nil {
		return store{}, err
	}
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return store{}, err
	}
	cfg.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return store{}, err
	}
	bare := func(ctx context.Context) error {
		_, err := pool.Exec(ctx, "UPDATE bench_bare SET n = n + 1 WHERE id = $1", 1)
		return err
	}
	return compare("PostgreSQL, pgx", bare, sqllock.Pgx(pool), pool.Close)
}

// prepare makes the lease table and the table of the bare updates.
func prepare(ctx context.Context, db *sql.DB, dialect migrations.Dialect) error {
	if err := migrations.Up(ctx, db, dialect); err != nil {
		return err
	}
	for _, statement := range []string{
		"DROP TABLE IF EXISTS bench_bare",
		"CREATE TABLE bench_bare (id bigint PRIMARY KEY, n bigint NOT NULL)",
		"INSERT INTO bench_bare VALUES (1, 0)",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func compare(name string, bare func(context.Context) error, backend driver.Backend, closeStore func()) (store, error) {
	locker, err := rowlock.New(backend)
	if err != nil {
		return store{}, err
	}
	return store{
		name: name,
		bare: func(ctx context.Context) error {
			if err := bare(ctx); err != nil {
				return err
			}
			return bare(ctx)
		},
		cycle: func(ctx context.Context) error {
			lease, err := locker.Acquire(ctx, "bench")
			if err != nil {
				return err
			}
			return lease.Release(ctx)
		},
		close: func() {
			_ = locker.Close()
			closeStore()
		},
	}, nil
}
