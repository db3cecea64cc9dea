package testenv

import (
	"database/sql"
	"testing"
)

// Session is a session of a MySQL or MariaDB server. An empty text stands for NULL.
type Session struct {
	ID                                        int64
	User, Database, Command, State, Statement string
}

const showSessions = "SHOW FULL PROCESSLIST"

// Sessions returns the sessions of the server, except those that read this list. It does not read the table
// information_schema.processlist: on MySQL that fails with error 3854 while any session runs a statement that contains
// characters outside utf8mb3.
func Sessions(tb testing.TB, db *sql.DB) (all []Session) {
	tb.Helper()
	rows, err := db.QueryContext(tb.Context(), showSessions)
	if err != nil {
		tb.Fatalf("list the sessions: %v", err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		tb.Fatalf("list the sessions: %v", err)
	}
	for rows.Next() {
		var id int64
		var host, duration any
		var user, database, command, state, statement sql.NullString
		dest := []any{&id, &user, &host, &database, &command, &duration, &state, &statement}
		for len(dest) < len(columns) { // MariaDB also shows the progress
			dest = append(dest, new(any))
		}
		if err := rows.Scan(dest...); err != nil {
			tb.Fatalf("list the sessions: %v", err)
		}
		if statement.String != showSessions {
			all = append(all, Session{id, user.String, database.String, command.String, state.String, statement.String})
		}
	}
	if err := rows.Err(); err != nil {
		tb.Fatalf("list the sessions: %v", err)
	}
	return all
}

// Working returns how many sessions of the database run a statement, or wait in one.
func Working(tb testing.TB, db *sql.DB, database string) (n int) {
	tb.Helper()
	for _, s := range Sessions(tb, db) {
		if s.Database == database && s.Command != "Sleep" {
			n++
		}
	}
	return n
}
