//go:build linux

package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/mysqlock"
	"github.com/rowlock/rowlock/sqllock"
)

func postgresDSN(addr string) string {
	return fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable&connect_timeout=3", addr)
}

// go-sql-driver ignores the context of a commit. So the driver's own timeouts must limit how long a commit takes.
func mysqlDSN(addr string) string {
	return fmt.Sprintf("root@tcp(%s)/rowlock?timeout=3s&readTimeout=4s&writeTimeout=4s", addr)
}

func sqliteDSN(path string) string {
	return "file:" + path + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(2000)&_pragma=synchronous(FULL)"
}

func newClient(d dialect, dsn string) (*client, *data, error) {
	db, err := d.open(dsn)
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(16)
	// database/sql keeps 2 idle connections by default. With so few, most calls would open a new connection.
	db.SetMaxIdleConns(16)
	c := new(client)
	c.then(func() { _ = db.Close() })
	return c, db, nil
}

// onOneHandle opens the locks and the data with one *sql.DB. The library can then often grant a lock and seal the data
// in one transaction.
func onOneHandle(d dialect, dsn func(job) string, backend func(*sql.DB, ...sqllock.Option) *sqllock.Backend) func(job) (*client, error) {
	return func(j job) (*client, error) {
		c, db, err := newClient(d, dsn(j))
		if err != nil {
			return nil, err
		}
		c.backend = backend(db.DB)
		return c.guarded(db), nil
	}
}

var (
	openPostgres = onOneHandle(postgresData, func(j job) string { return postgresDSN(j.Nodes[0]) }, sqllock.Postgres)
	openMySQL    = onOneHandle(mysqlData, func(j job) string { return mysqlDSN(j.Nodes[0]) }, sqllock.MySQL)
	openSQLite   = onOneHandle(sqliteData, func(j job) string { return sqliteDSN(j.Data) }, sqllock.SQLite)
)

// openPgx opens the locks with a pgx pool and the data with a *sql.DB. So the guard seals the data in its own
// transaction.
func openPgx(j job) (*client, error) {
	c, db, err := newClient(postgresData, postgresDSN(j.Nodes[0]))
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

func openAdvisory(j job) (*client, error) {
	c, err := openPgx(j)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(context.Background(), postgresDSN(j.Nodes[0])+"&pool_max_conns=12")
	if err != nil {
		return nil, err
	}
	c.then(pool.Close)
	c.backend = advisory.New(pool)
	return c, nil
}

func openGetLock(j job) (*client, error) {
	c, err := openMySQL(j)
	if err != nil {
		return nil, err
	}
	locks, err := mysqlData.open(mysqlDSN(j.Nodes[0]))
	if err != nil {
		return nil, err
	}
	locks.SetMaxOpenConns(16)
	locks.SetMaxIdleConns(16)
	c.then(func() { _ = locks.Close() })
	c.backend = mysqlock.New(locks.DB, mysqlock.Sessions(12))
	return c, nil
}
