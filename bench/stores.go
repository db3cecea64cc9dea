package main

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// databases are all that there are: a file of SQLite, and the servers that the environment names.
func databases(dir string) []database {
	file := "file:" + filepath.Join(dir, "bench.db") + "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)"
	all := []database{
		{"PostgreSQL, database/sql", "pgx", os.Getenv("ROWLOCK_TEST_POSTGRES"), migrations.Postgres, "UPDATE bench_bare SET n = n + 1 WHERE id = $1", sqllock.Postgres, fence.Postgres},
		{"MySQL", "mysql", os.Getenv("ROWLOCK_TEST_MYSQL"), migrations.MySQL, bareUpdate, sqllock.MySQL, fence.MySQL},
		{"MariaDB", "mysql", os.Getenv("ROWLOCK_TEST_MARIADB"), migrations.MySQL, bareUpdate, sqllock.MySQL, fence.MySQL},
		{"SQLite", "sqlite", file, migrations.SQLite, bareUpdate, sqllock.SQLite, fence.SQLite},
	}
	return slices.DeleteFunc(all, func(d database) bool { return d.dsn == "" })
}

// database is one of them, reached through database/sql.
type database struct {
	name, driver, dsn string
	dialect           migrations.Dialect
	bare              string // an update of one row
	backend           func(*sql.DB, ...sqllock.Option) *sqllock.Backend
	guard             func(*sql.DB, ...fence.Option) *fence.Guard
}

// locks are acquire and release beside two bare updates, on every database.
func locks(ctx context.Context, all []database) ([]comparison, error) {
	var rows []comparison
	for _, d := range all {
		if d.dialect == migrations.Postgres {
			row, err := openPgx(ctx, d.dsn)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
		row, err := openSQL(ctx, d)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// fences are transactions of one update with a fence beside the same without, on every database.
func fences(ctx context.Context, all []database) ([]comparison, error) {
	var rows []comparison
	for _, d := range all {
		if d.dialect == migrations.Postgres {
			more, err := openFencedPgx(ctx, d.dsn)
			if err != nil {
				return nil, err
			}
			rows = append(rows, more...)
		}
		more, err := openFencedSQL(ctx, d)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

const bareUpdate = "UPDATE bench_bare SET n = n + 1 WHERE id = ?"

// openSQL opens a database with one connection, which the bare updates and the locker share.
func openSQL(ctx context.Context, d database) (comparison, error) {
	db, err := sql.Open(d.driver, d.dsn)
	if err != nil {
		return comparison{}, err
	}
	if err := prepare(ctx, db, d.dialect); err != nil {
		return comparison{}, err
	}
	db.SetMaxOpenConns(1)
	stmt, err := db.PrepareContext(ctx, d.bare)
	if err != nil {
		return comparison{}, err
	}
	bare := func(ctx context.Context) error {
		_, err := stmt.ExecContext(ctx, 1)
		return err
	}
	return compare(d.name, bare, d.backend(db), func() { _ = db.Close() })
}

// openPgx does the same by a pgx pool, whose connection prepares what it is asked twice.
func openPgx(ctx context.Context, dsn string) (comparison, error) {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return comparison{}, err
	}
	defer func() { _ = db.Close() }()
	if err := prepare(ctx, db, migrations.Postgres); err != nil {
		return comparison{}, err
	}
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return comparison{}, err
	}
	cfg.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return comparison{}, err
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

func compare(name string, bare func(context.Context) error, backend driver.Backend, closeStore func()) (comparison, error) {
	locker, err := rowlock.New(backend)
	if err != nil {
		return comparison{}, err
	}
	return comparison{
		name: name,
		bare: func(ctx context.Context) error {
			if err := bare(ctx); err != nil {
				return err
			}
			return bare(ctx)
		},
		ours: func(ctx context.Context) error {
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
