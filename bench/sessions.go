package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pressly/goose/v3/lock"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/mysqlock"
)

const (
	takeAdvisory = "SELECT CASE WHEN pg_try_advisory_lock(4711) THEN 1 ELSE 0 END"
	giveAdvisory = "SELECT CASE WHEN pg_advisory_unlock(4711) THEN 1 ELSE 0 END"
	takeGetLock  = "SELECT GET_LOCK('rowlock_bench', 0)"
	giveGetLock  = "SELECT RELEASE_LOCK('rowlock_bench')"
)

// sessions are acquire and release of session locks, and goose's, beside the bare statements.
func sessions(ctx context.Context, all []database) ([]comparison, error) {
	var rows []comparison
	for _, d := range all {
		var more []comparison
		var err error
		switch d.dialect {
		case migrations.Postgres:
			more, err = sessionsOfPostgres(ctx, d)
		case migrations.MySQL:
			more, err = sessionsOfMySQL(ctx, d)
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func sessionsOfPostgres(ctx context.Context, d database) ([]comparison, error) {
	db, bare, err := openBare(ctx, d, takeAdvisory, giveAdvisory)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(ctx, d.dsn)
	if err != nil {
		return nil, err
	}
	goose, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return nil, err
	}
	table, err := lock.NewPostgresTableLocker()
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	rows := []comparison{{name: "PostgreSQL, database/sql: goose's session locker", bare: bare, ours: func(ctx context.Context) error {
		if err := goose.SessionLock(ctx, conn); err != nil {
			return err
		}
		return goose.SessionUnlock(ctx, conn)
	}}, gooseTable("PostgreSQL, database/sql", bare, table, db)}
	return addCycles(rows, bare, map[string]driver.Backend{
		"PostgreSQL, pgx: advisory":                   advisory.New(pool),
		"PostgreSQL, pgx: advisory, NoToken":          advisory.New(pool, advisory.NoToken()),
		"PostgreSQL, database/sql: advisory":          advisory.NewDB(db),
		"PostgreSQL, database/sql: advisory, NoToken": advisory.NewDB(db, advisory.NoToken()),
	})
}

func sessionsOfMySQL(ctx context.Context, d database) ([]comparison, error) {
	db, bare, err := openBare(ctx, d, takeGetLock, giveGetLock)
	if err != nil {
		return nil, err
	}
	// goose reads times from its table, which the driver only makes of what the server sends if it is told to. Without
	// that each of its tries fails, and it tries again for minutes.
	config, err := mysqldriver.ParseDSN(d.dsn)
	if err != nil {
		return nil, err
	}
	config.ParseTime = true
	connector, err := mysqldriver.NewConnector(config)
	if err != nil {
		return nil, err
	}
	table, err := lock.NewMySQLTableLocker()
	if err != nil {
		return nil, err
	}
	rows := []comparison{gooseTable(d.name, bare, table, sql.OpenDB(connector))}
	return addCycles(rows, bare, map[string]driver.Backend{
		d.name + ": GET_LOCK":          mysqlock.New(db),
		d.name + ": GET_LOCK, NoToken": mysqlock.New(db, mysqlock.NoToken()),
	})
}

// gooseTable is goose's lock in a table of its own, which it makes where it is missing.
func gooseTable(name string, bare func(context.Context) error, l lock.Locker, db *sql.DB) comparison {
	return comparison{name: name + ": goose's table locker", bare: bare, ours: func(ctx context.Context) error {
		if err := l.Lock(ctx, db); err != nil {
			return err
		}
		return l.Unlock(ctx, db)
	}}
}

// openBare opens a database, and the two statements that any such lock must run, on one connection.
func openBare(ctx context.Context, d database, take, give string) (*sql.DB, func(context.Context) error, error) {
	db, err := sql.Open(d.driver, d.dsn)
	if err != nil {
		return nil, nil, err
	}
	if err := migrations.Up(ctx, db, d.dialect); err != nil {
		return nil, nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	return db, func(ctx context.Context) error {
		for _, statement := range []string{take, give} {
			var one int
			if err := conn.QueryRowContext(ctx, statement).Scan(&one); err != nil {
				return err
			}
			if one != 1 {
				return errors.New(statement + " was refused")
			}
		}
		return nil
	}, nil
}

// addCycles adds acquire and release on each backend.
func addCycles(rows []comparison, bare func(context.Context) error, backends map[string]driver.Backend) ([]comparison, error) {
	for _, name := range slices.Sorted(maps.Keys(backends)) {
		locker, err := rowlock.New(backends[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		rows = append(rows, comparison{name: name, bare: bare, ours: func(ctx context.Context) error {
			lease, err := locker.Acquire(ctx, "bench")
			if err != nil {
				return err
			}
			return lease.Release(ctx)
		}})
	}
	return rows, nil
}
