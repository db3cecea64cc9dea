//go:build sqlite_ncruces

package compat_test

import (
	"database/sql"

	"github.com/ncruces/go-sqlite3/driver"
)

func openSQLite(path string) (*sql.DB, error) {
	return driver.Open("file:" + path + "?_pragma=journal_mode(wal)&_pragma=busy_timeout(5000)")
}
