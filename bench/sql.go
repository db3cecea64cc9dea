package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/migrations"
)

const (
	twoUpdatesSQL = "two bare updates, database/sql"
	bareTable     = "CREATE TABLE IF NOT EXISTS bench_bare (id bigint PRIMARY KEY, n bigint NOT NULL)"
)

// peerConnections is the number of connections in a process, for all waiters of a library that polls.
const peerConnections = 16

// migrate creates the tables of rowlock and the table of the bare updates.
func migrate(ctx context.Context, driver, dsn string, dialect migrations.Dialect) error {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if err := migrations.Up(ctx, db, dialect); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, bareTable)
	return err
}

// twoUpdates is the minimum work of a lease row: one update to acquire and one update to release, both prepared, on one
// connection.
func twoUpdates(driver, insert, update string) lock {
	return lock{name: twoUpdatesSQL, kind: report.Floor, floor: twoUpdatesSQL, alone: true, half: true,
		open: func(ctx context.Context, at []string, t task) (*party, error) {
			db, err := sql.Open(driver, at[0])
			if err != nil {
				return nil, err
			}
			db.SetMaxOpenConns(1)
			id, leave := number(t.Name), func() { _ = db.Close() }
			if _, err := db.ExecContext(ctx, insert, id); err != nil {
				leave()
				return nil, err
			}
			stmt, err := db.PrepareContext(ctx, update)
			if err != nil {
				leave()
				return nil, err
			}
			bare := func(ctx context.Context) error {
				_, err := stmt.ExecContext(ctx, id)
				return err
			}
			return single(leave, bare, bare), nil
		}}
}

// bySQL opens a backend of rowlock on a database/sql pool.
func bySQL[B driver.Backend](driverName string, backend func(*sql.DB) B) func(context.Context, []string) (driver.Backend, func(), error) {
	return func(_ context.Context, at []string) (driver.Backend, func(), error) {
		db, err := sql.Open(driverName, at[0])
		if err != nil {
			return nil, nil, err
		}
		db.SetMaxIdleConns(16) // with the default of 2, AcquireAll of three names would open a connection each time
		db.SetMaxOpenConns(poolLimit)
		return backend(db), func() { _ = db.Close() }, nil
	}
}

// waitingStatements is a lock that is acquired by one statement and released by another,
// on a connection for each member. The server itself keeps the queue of waiters, so no lock in that server can be
// faster.
func waitingStatements(name, driver string, take, give func(lock string) string) lock {
	return lock{name: name, kind: report.Floor, floor: name, most: 250,
		open: func(ctx context.Context, at []string, t task) (*party, error) {
			db, err := sql.Open(driver, at[0])
			if err != nil {
				return nil, err
			}
			return gather(t.Members, func() { _ = db.Close() }, func() (acquirer, error) {
				conn, err := db.Conn(ctx)
				if err != nil {
					return nil, err
				}
				release := func(ctx context.Context) error { return one(ctx, conn, give(t.Name)) }
				return func(ctx context.Context) (held, error) { return held{release: release}, one(ctx, conn, take(t.Name)) }, nil
			})
		}}
}

func one(ctx context.Context, conn *sql.Conn, statement string) error {
	var answer int
	if err := conn.QueryRowContext(ctx, statement).Scan(&answer); err != nil {
		return err
	}
	if answer != 1 {
		return fmt.Errorf("%s was refused", statement)
	}
	return nil
}

// askSQL runs a query that returns one text.
func askSQL(ctx context.Context, driver, dsn, query string) (answer string, err error) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }()
	err = db.QueryRowContext(ctx, query).Scan(&answer)
	return answer, err
}

// countSQL returns a counter. The meters that this counter creates run the statement in the parameter query to read the
// number.
func countSQL(driver, query string) counter {
	return func(ctx context.Context, at []string) (meter, func(), error) {
		db, err := sql.Open(driver, at[0])
		if err != nil {
			return nil, nil, err
		}
		db.SetMaxOpenConns(1)
		return func(ctx context.Context) (n float64, err error) {
			err = db.QueryRowContext(ctx, query).Scan(&n)
			return n, err
		}, func() { _ = db.Close() }, nil
	}
}
