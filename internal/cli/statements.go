package cli

import (
	"context"
	"database/sql"
	"embed"
	"encoding/hex"

	"github.com/rowlock/rowlock/migrations"
)

//go:embed sql/postgres sql/mysql sql/sqlite
var statementFiles embed.FS

// statement is the text of sql/<dialect>/<verb>.sql for the store's table.
func (s *store) statement(verb string) string {
	return s.statementOf(statementFiles, "sql/"+s.at.dialect.String(), verb)
}

func (s *store) statementOf(files embed.FS, folder, verb string) string {
	quote := `"`
	if s.at.dialect == migrations.MySQL {
		quote = "`"
	}
	return s.table.Statements(files, folder, quote)[verb]
}

// exec returns how many rows were changed.
func (s *store) exec(ctx context.Context, verb string, args ...any) (int64, error) {
	result, err := s.db.ExecContext(ctx, s.statement(verb), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (s *store) query(ctx context.Context, verb string, args ...any) (*sql.Rows, error) {
	return s.db.QueryContext(ctx, s.statement(verb), args...)
}

// text is how a text is given to a statement: to MySQL in hexadecimal digits, whatever the connection's character set.
func (s *store) text(t string) string {
	if s.at.dialect == migrations.MySQL {
		return hex.EncodeToString([]byte(t))
	}
	return t
}
