package testenv

import (
	"database/sql"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// MySQL returns the DSN of a fresh, empty database on a MySQL server (never MariaDB), dropped when the test ends.
func MySQL(tb testing.TB) string {
	tb.Helper()
	return freshMySQL(tb, DSN(tb, EngineMySQL))
}

// MariaDB returns the DSN of a fresh, empty database on a MariaDB server, dropped when the test ends.
func MariaDB(tb testing.TB) string {
	tb.Helper()
	return freshMySQL(tb, DSN(tb, EngineMariaDB))
}

func freshMySQL(tb testing.TB, dsn string) string {
	tb.Helper()
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		tb.Fatalf("not a DSN of go-sql-driver/mysql: %q: %v", dsn, err)
	}
	name := freshName()
	if err := execMySQL(dsn, "CREATE DATABASE "+name); err != nil {
		tb.Fatalf("create a MySQL database: %v", err)
	}
	tb.Cleanup(func() {
		// A table cannot be dropped while an open transaction has read it. So this statement waits some seconds
		// for the end of such a transaction.
		if err := execMySQL(dsn, "SET lock_wait_timeout = 5", "DROP DATABASE IF EXISTS "+name); err != nil {
			tb.Errorf("drop a MySQL database: %v (does the test leave a transaction open?)", err)
		}
	})
	config.DBName = name
	return config.FormatDSN()
}

// execMySQL runs statements one after the other in one session.
func execMySQL(dsn string, statements ...string) error {
	ctx, cancel := bounded()
	defer cancel()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
