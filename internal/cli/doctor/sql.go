package doctor

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/migrations"
)

// EXPLAIN statements for the operations that rowlock executes. For EXPLAIN the database checks the user's privilege,
// and does not execute the operation. The statements are the same in all dialects.
//
//go:embed sql/may/*.sql
var mayFiles embed.FS

// Statements that read the server's type, settings and clock.
//
//go:embed sql/postgres sql/mysql
var factFiles embed.FS

// privilege is an operation on a table that the user must be allowed to execute. The statement sql/may/TABLE_VERB.sql
// tests whether the user is allowed.
type privilege struct{ table, verb string }

// grants returns the GRANT statements that give the missing privileges to the user: one statement for each table,
// each with a semicolon.
func (s database) grants(missing []privilege, user string) string {
	var statements []string
	for i := 0; i < len(missing); {
		var verbs []string
		of := missing[i].table
		for ; i < len(missing) && missing[i].table == of; i++ {
			verbs = append(verbs, s.verb(missing[i]))
		}
		table := s.Table.String()
		if of != "lease" {
			table += "_" + of
		}
		if missing[i-1].verb == "execute" {
			table = "FUNCTION " + table
		}
		statements = append(statements, fmt.Sprintf("GRANT %s ON %s TO %s;", strings.Join(verbs, ", "), table, user))
	}
	return strings.Join(statements, " ")
}

// verb returns the words for the privilege p in a GRANT statement. On Postgres the privilege UPDATE on the meta table
// is limited to some columns. So a user with this privilege cannot change the column floor, which limits the tokens.
func (s database) verb(p privilege) string {
	if s.At.Dialect == migrations.Postgres && p == (privilege{"meta", "update"}) {
		return "UPDATE (epoch, quarantined_until, longest_ttl_us)"
	}
	return strings.ToUpper(p.verb)
}

// user returns the name of this user, quoted for a GRANT statement.
func (s database) user(ctx context.Context) (user string, err error) {
	err = s.DB.QueryRowContext(ctx, s.statement("user")).Scan(&user)
	return user, err
}

// The privileges that each kind of lock needs, and the privileges that the history needs.
var (
	ofLeaseRows = []privilege{{"lease", "select"}, {"lease", "insert"}, {"lease", "update"}, {"meta", "select"}, {"meta", "update"}}
	ofEpoch     = []privilege{{"same_epoch", "execute"}} // every role has this privilege by default
	ofWaiters   = []privilege{{"waiter", "select"}, {"waiter", "insert"}, {"waiter", "update"}, {"waiter", "delete"}}
	ofCounter   = []privilege{{"mint", "select"}, {"mint", "update"}, {"counter", "select"}, {"counter", "insert"}, {"counter", "update"}}
	ofHistory   = []privilege{{"run", "select"}, {"run", "insert"}, {"run", "update"}, {"run", "delete"}}
)

// boundCheck warns if the address contains no connect timeout. A program with this address could wait forever for a
// server that does not answer. The command rowlock has its own time limit.
func (s database) boundCheck(r *Report) {
	if len(s.Unbounded) > 0 {
		r.warn("connect", fmt.Sprintf("the address does not limit a connect: this command gives up after %s, but a program that uses database/sql may wait forever for a server that does not answer", store.ConnectTimeout),
			"add "+strings.Join(s.Unbounded, "&")+" to the address")
	}
}

// may returns nil if this user has the privilege p. It runs EXPLAIN for a statement that needs the privilege.
func (s database) may(ctx context.Context, p privilege) error {
	rows, err := s.DB.QueryContext(ctx, s.StatementIn(mayFiles, "sql/may", p.table+"_"+p.verb))
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

// privilegesCheck returns a check that tests each needed privilege. It reports success only if no privilege is missing,
// and no earlier check has found a problem with the tables or the privileges.
func (s database) privilegesCheck(needed []privilege) check {
	return check{"privileges", func(ctx context.Context, r *Report) error {
		var missing, lesser []privilege
		for _, p := range append(needed[:len(needed):len(needed)], ofHistory...) {
			switch err := s.may(ctx, p); {
			case err == nil, store.IsMissingTable(err): // nothing to report here: schemaCheck reports a missing table
			case !isDenied(err):
				return err
			case p.table == "run":
				lesser = append(lesser, p)
			default:
				missing = append(missing, p)
			}
		}
		user, err := s.user(ctx)
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			r.problem("privileges", "this user lacks a privilege that a lock needs", "as the owner of the tables: "+s.grants(missing, user))
		}
		if len(lesser) > 0 {
			r.warn("privileges", "this user may not write the history, so rowlock history does not show its runs",
				"as the owner of the tables: "+s.grants(lesser, user))
		}
		if len(missing)+len(lesser) == 0 && !r.has(problem, "schema") && !r.has(problem, "privileges") {
			r.ok("privileges", "this user has all privileges that a lock needs")
		}
		return nil
	}}
}

// isDenied reports whether err means that this user lacks a privilege on a table, a column, a sequence,
// a schema or a database.
func isDenied(err error) bool {
	switch sqlerror.MySQL(err) {
	case 1142, 1143, 1044, 1370, 1227:
		return true
	}
	return sqlerror.State(err) == "42501"
}

// schemaCheck returns a check that the tables have the version that this program needs. A user that only acquires locks
// may lack the privilege to read the version table. Then the check examines the tables themselves.
func (s database) schemaCheck(needed []privilege) check {
	return check{"schema", func(ctx context.Context, r *Report) error {
		mend := "rowlock migrate up" + s.Flags()
		if r.has(problem, "privileges") {
			return nil // closedCheck has reported that this user may not use the schema of the tables
		}
		denied := false
		for _, p := range needed {
			err := s.may(ctx, p)
			denied = denied || isDenied(err)
			if store.IsMissingTable(err) {
				r.problem("schema", fmt.Sprintf("the tables of %s are missing or out of date: %s", s.Table, terminal.Plain(err)), mend)
				return nil
			}
		}
		list, err := migrations.Status(ctx, s.DB, s.At.Dialect, migrations.Table(s.Table.String()))
		switch {
		case isDenied(err):
			r.ok("schema", "all that a lock needs exists; this user may not read which migrations were applied")
			return nil
		case errors.Is(err, migrations.ErrMadeElsewhere):
			r.madeElsewhere()
			return nil
		case err != nil:
			return err
		case slices.ContainsFunc(list, func(m migrations.MigrationStatus) bool { return m.Applied }):
			r.schema(list, mend)
		case denied:
			r.warn("schema", "this user may not see whether the tables exist", "grant the missing privileges, and run rowlock doctor again")
		default:
			r.madeElsewhere() // MySQL hides the version table from a user that may read neither that table nor the lease table
		}
		return nil
	}}
}

func (r *Report) madeElsewhere() {
	r.ok("schema", "all that a lock needs exists; which migrations were applied is unknown: either other migrations than rowlock's created the tables, or this user may not read rowlock's list")
}

func (r *Report) schema(list []migrations.MigrationStatus, mend string) {
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

// clockOf returns the time of the database server's clock.
func (s database) clockOf(ctx context.Context) (time.Time, error) {
	var micros int64
	err := s.DB.QueryRowContext(ctx, s.statement("clock")).Scan(&micros)
	return time.UnixMicro(micros), err
}

// facts runs a statement whose rows are a name and a value, and returns the values by name.
func (s database) facts(ctx context.Context, verb string, args ...any) (map[string]string, error) {
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

// statement returns the SQL of sql/<dialect>/<verb>.sql with the names of the store's tables.
func (s database) statement(verb string) string {
	return s.StatementIn(factFiles, "sql/"+s.At.Dialect.String(), verb)
}

func (s database) query(ctx context.Context, verb string, args ...any) (*sql.Rows, error) {
	return s.DB.QueryContext(ctx, s.statement(verb), args...)
}
