package store

import (
	"embed"

	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/migrations"
)

//go:embed sql
var statementFiles embed.FS

// StatementIn returns the SQL of the file folder/verb.sql with the names of the store's tables.
func (s *Store) StatementIn(files embed.FS, folder, verb string) string {
	quote := `"`
	if s.At.Dialect == migrations.MySQL {
		quote = "`"
	}
	return s.Table.Statement(files, folder, verb, quote)
}

// IsMissingTable reports whether err means that a table, column, function or schema does not exist.
// On SQLite it checks for SQLITE_ERROR, which a well-formed statement returns for no other reason.
func IsMissingTable(err error) bool {
	switch sqlerror.State(err) {
	case "42P01", "42703", "42883", "3F000":
		return true
	}
	switch sqlerror.MySQL(err) {
	case 1146, 1054, 1049:
		return true
	}
	return sqlerror.SQLite(err)&0xff == 1
}
