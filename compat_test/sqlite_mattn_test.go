//go:build sqlite_mattn && !sqlite_ncruces

package compat_test

import (
	"database/sql"

	_ "github.com/mattn/go-sqlite3"
)

func openSQLite(path string) (*sql.DB, error) {
	return sql.Open("sqlite3", "file:"+path+"?_journal_mode=WAL&_busy_timeout=5000")
}
