package cli

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/migrations"
)

// Statements that ask for a plan of what the command does, and so for the privilege to do it; nothing is carried out.
// They are the same in all dialects.
//
//go:embed sql/may/*.sql
var mayFiles embed.FS

// privilege is what a user must be allowed to do: sql/may/TABLE_VERB.sql asks.
type privilege struct{ table, verb string }

func (p privilege) grant(s *store) string {
	table := s.table.String()
	if p.table != "lease" {
		table += "_" + p.table
	}
	return fmt.Sprintf("GRANT %s ON %s", strings.ToUpper(p.verb), table)
}

// Those that a lock needs, by what keeps it, and those of the history.
var (
	ofLeaseRows = []privilege{{"lease", "select"}, {"lease", "insert"}, {"lease", "update"}, {"meta", "select"}, {"meta", "update"}}
	ofWaiters   = []privilege{{"waiter", "select"}, {"waiter", "insert"}, {"waiter", "update"}, {"waiter", "delete"}}
	ofCounter   = []privilege{{"meta", "select"}, {"counter", "select"}, {"counter", "insert"}, {"counter", "update"}}
	ofHistory   = []privilege{{"run", "select"}, {"run", "insert"}, {"run", "delete"}}
)

// may asks for the plan of what the privilege permits.
func (s *store) may(ctx context.Context, p privilege) error {
	rows, err := s.db.QueryContext(ctx, s.statementOf(mayFiles, "sql/may", p.table+"_"+p.verb))
	if err != nil {
		return err
	}
	for rows.Next() {
	}
	return errorsOf(rows)
}

func errorsOf(rows *sql.Rows) error {
	err := rows.Err()
	if end := rows.Close(); err == nil {
		err = end
	}
	return err
}

// privilegesCheck asks for each privilege.
func (s *store) privilegesCheck(needed []privilege) check {
	return check{"privileges", func(ctx context.Context, r *report) error {
		var missing, lesser []string
		for _, p := range append(needed[:len(needed):len(needed)], ofHistory...) {
			switch err := s.may(ctx, p); {
			case err == nil, isMissingTable(err): // the schema's check tells
			case !isDenied(err):
				return err
			case p.table == "run":
				lesser = append(lesser, p.grant(s))
			default:
				missing = append(missing, p.grant(s))
			}
		}
		if len(missing) > 0 {
			r.problem("privileges", "this user may not do what a lock needs", "as the owner of the tables: "+strings.Join(missing, "; ")+", each to this user")
		}
		if len(lesser) > 0 {
			r.warn("privileges", "this user may not write the history, so that rowlock history shows nothing of its runs",
				"as the owner of the tables: "+strings.Join(lesser, "; ")+", each to this user")
		}
		if len(missing)+len(lesser) == 0 {
			r.ok("privileges", "this user may do all that a lock needs")
		}
		return nil
	}}
}

// isDenied recognises a missing privilege: on a table, a column, a sequence, a schema, a database.
func isDenied(err error) bool {
	switch sqlerror.MySQL(err) {
	case 1142, 1143, 1044, 1370, 1227:
		return true
	}
	return sqlerror.State(err) == "42501"
}

// schemaCheck looks whether the tables are there, and of this version. Whoever only locks may not be allowed to read the
// table of versions.
func (s *store) schemaCheck(needed []privilege) check {
	return check{"schema", func(ctx context.Context, r *report) error {
		mend := "rowlock migrate up" + s.flags()
		for _, p := range needed {
			if err := s.may(ctx, p); isMissingTable(err) {
				r.problem("schema", fmt.Sprintf("the tables of %s are missing or out of date: %s", s.table, plain(err)), mend)
				return nil
			}
		}
		list, err := migrations.Status(ctx, s.db, s.at.dialect, migrations.Table(s.table.String()))
		switch {
		case isDenied(err):
			r.ok("schema", "what a lock needs is there; which migrations were applied, this user may not read")
			return nil
		case errors.Is(err, migrations.ErrMadeElsewhere):
			r.madeElsewhere()
			return nil
		case err != nil:
			return err
		}
		r.schema(list, mend)
		return nil
	}}
}

func (r *report) madeElsewhere() {
	r.ok("schema", "what a lock needs is there; there is no list of migrations: others than rowlock's own have made it, or this user may not see it")
}

func (r *report) schema(list []migrations.MigrationStatus, mend string) {
	var missing []string
	for _, m := range list {
		if !m.Applied {
			missing = append(missing, m.Name)
		}
	}
	switch {
	case len(missing) == 0:
		r.ok("schema", "the tables are up to date: "+list[len(list)-1].Name)
	default:
		r.problem("schema", "the tables are older than this version; what is missing: "+strings.Join(missing, ", "), mend)
	}
}

// clockOf reads the server's clock by a statement.
func (s *store) clockOf(ctx context.Context) (time.Time, error) {
	var micros int64
	err := s.db.QueryRowContext(ctx, s.statement("clock")).Scan(&micros)
	return time.UnixMicro(micros), err
}

// facts are the rows of a statement: a name and a value each.
func (s *store) facts(ctx context.Context, verb string, args ...any) (map[string]string, error) {
	rows, err := s.query(ctx, verb, args...)
	if err != nil {
		return nil, err
	}
	facts := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			_ = rows.Close()
			return nil, err
		}
		facts[strings.ToLower(name)] = value
	}
	return facts, errorsOf(rows)
}
