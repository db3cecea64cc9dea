package docs_test

import (
	"database/sql"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hostile contains statements that TestGrantsAreWhatTheySay runs under each account. That test lists the statements
// that each account is allowed to run.
var hostile = map[string]string{
	"look":         "SELECT count(*) FROM rowlock_lease",
	"marks":        "SELECT count(*) FROM rowlock_lease_fence",
	"hold":         "UPDATE rowlock_lease SET note = 'mine'",
	"delete":       "DELETE FROM rowlock_lease",
	"lower":        "UPDATE rowlock_lease_meta SET floor = 0",
	"reset a mark": "UPDATE rowlock_lease_fence SET token = 0",
	"write data":   "UPDATE orders SET total = 0",
	"drop":         "DROP TABLE rowlock_lease",
	"alter":        "ALTER TABLE rowlock_lease ADD COLUMN x int",
	"empty":        "TRUNCATE TABLE rowlock_lease",
}

// SECURITY.md grants privileges to a program and to an observer. With these privileges, each of them can run the
// statements that the page allows, and no other statement of the map hostile.
func TestGrantsAreWhatTheySay(t *testing.T) {
	t.Parallel()
	may := map[string][]string{"a stranger": nil, "an observer": {"look", "marks"}, "a program": {"look", "hold"}}
	for _, server := range []string{"PostgreSQL", "MySQL", "MariaDB"} {
		for who, allowed := range may {
			t.Run(server+": "+who, func(t *testing.T) {
				t.Parallel()
				owner, dsn, account := database(t, server)
				_, err := owner.ExecContext(t.Context(), "CREATE TABLE orders (id bigint PRIMARY KEY, total bigint NOT NULL)")
				require.NoError(t, err)
				for _, statement := range granted(t, server, who, account) {
					_, err := owner.ExecContext(t.Context(), statement)
					require.NoError(t, err, statement)
				}
				enter(t, owner, server, account)
				his := as(t, server, dsn, account)
				for what, statement := range hostile {
					_, err := his.ExecContext(t.Context(), statement)
					if slices.Contains(allowed, what) {
						assert.NoError(t, err, what)
						continue
					}
					require.Error(t, err, what)
					assert.Regexp(t, "denied|must be owner", err.Error(), what)
				}
			})
		}
	}
}

// The function granted returns the statements of one block in SECURITY.md. That block grants privileges to the given
// role. The function replaces the account in these statements by the parameter account.
func granted(t *testing.T, server, role, account string) []string {
	t.Helper()
	if role == "a stranger" {
		return nil
	}
	for _, b := range blocks(t, "sql") {
		first, _, _ := strings.Cut(b.Text, "\n")
		if b.Page == "SECURITY.md" && strings.Contains(first, server) && strings.HasSuffix(first, ": "+role) {
			return statements(strings.ReplaceAll(b.Text, "TO app", "TO "+account))
		}
	}
	t.Fatalf("SECURITY.md grants nothing to %s on %s", role, server)
	return nil
}

// enter allows the account to connect to the database, and nothing else.
func enter(t *testing.T, owner *sql.DB, server, account string) {
	t.Helper()
	statement := "ALTER ROLE " + account + " LOGIN"
	if server != "PostgreSQL" {
		statement = "GRANT CREATE TEMPORARY TABLES ON * TO " + account
	}
	_, err := owner.ExecContext(t.Context(), statement)
	require.NoError(t, err)
}

// The function as returns a database handle that logs in with the account.
func as(t *testing.T, server, dsn, account string) *sql.DB {
	t.Helper()
	name := "pgx"
	if server == "PostgreSQL" {
		u, err := url.Parse(dsn)
		require.NoError(t, err)
		u.User = url.User(account)
		dsn = u.String()
	} else {
		name = "mysql"
		config, err := mysql.ParseDSN(dsn)
		require.NoError(t, err)
		config.User, config.Passwd = account, ""
		dsn = config.FormatDSN()
	}
	db, err := sql.Open(name, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	require.NoError(t, db.PingContext(t.Context()))
	return db
}
