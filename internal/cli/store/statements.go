package store

import (
	"embed"

	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/migrations"
)

// StatementIn returns the text of FOLDER/VERB.sql for the store's table.
func (s *Store) StatementIn(files embed.FS, folder, verb string) string {
	quote := `"`
	if s.At.Dialect == migrations.MySQL {
		quote = "`"
	}
	return s.Table.Statements(files, folder, quote)[verb]
}

// IsMissingTable recognises that a table or a column is not there: undefined table, column, function and schema; on SQLite
// SQLITE_ERROR, which a statement that is well formed answers for no other reason.
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
