package cli

import (
	"context"
	"database/sql"
	"embed"
	"encoding/hex"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/migrations"
)

//go:embed sql/postgres sql/mysql sql/sqlite
var statementFiles embed.FS

// statement is the text of sql/<dialect>/<verb>.sql for the store's table, and arguments are what it takes.
func (s *store) statement(verb string, args []any) (string, []any) {
	return s.statementOf(statementFiles, "sql/"+s.at.dialect.String(), verb, args)
}

func (s *store) statementOf(files embed.FS, folder, verb string, args []any) (string, []any) {
	quote := `"`
	switch s.at.dialect {
	case migrations.MySQL:
		quote = "`"
	case migrations.Postgres:
		args = append([]any{pgx.QueryExecModeExec}, args...) // a statement that is prepared by name may be another's behind a pooler
	}
	return s.table.Statements(files, folder, quote)[verb], args
}

func (s *store) exec(ctx context.Context, verb string, args ...any) error {
	text, args := s.statement(verb, args)
	_, err := s.db.ExecContext(ctx, text, args...)
	return err
}

func (s *store) query(ctx context.Context, verb string, args ...any) (*sql.Rows, error) {
	text, args := s.statement(verb, args)
	return s.db.QueryContext(ctx, text, args...)
}

// text is how a text is given to a statement: to MySQL in hexadecimal digits, whatever the connection's character set.
func (s *store) text(t string) string {
	if s.at.dialect == migrations.MySQL {
		return hex.EncodeToString([]byte(t))
	}
	return t
}
