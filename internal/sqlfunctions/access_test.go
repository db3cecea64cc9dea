package sqlfunctions_test

import (
	"database/sql"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/testenv"
)

// Each block of grants in SECURITY.md allows exactly the calls that the page says: a role that may only check cannot
// lock, and a role that may only lock cannot seal. None of them can read or write the tables.
func TestTheGrantsOfTheFunctionsAreWhatTheySay(t *testing.T) {
	t.Parallel()
	calls := map[string]string{
		"try":     "SELECT rowlock_lease_try_acquire('a', '1 min')",
		"acquire": "CALL rowlock_lease_acquire('b', '1 ms', '1 min')",
		"leave":   "SELECT rowlock_lease_leave('b', rowlock_lease_nonce())",
		"renew":   "SELECT rowlock_lease_renew('c', rowlock_lease_nonce(), 1, '1 min')",
		"release": "SELECT rowlock_lease_release('d', rowlock_lease_nonce(), 1)",
		"in tx":   "SELECT rowlock_lease_lock_in_tx('e')",
		"seal":    "SELECT rowlock_lease_seal('f', 1, rowlock_lease_nonce())",
		"check":   "SELECT rowlock_lease_check('orders', 1, '00000000-0000-0000-0000-000000000001')",
		"view":    "SELECT FROM rowlock_lease_locks",
		"core":    "SELECT rowlock_lease_do_ttl(1)",
		"look":    "SELECT FROM rowlock_lease",
		"write":   "UPDATE rowlock_lease SET token = 0",
		"marks":   "SELECT FROM rowlock_lease_fence",
		"meta":    "UPDATE rowlock_lease_meta SET floor = 0",
		"replace": "CREATE OR REPLACE FUNCTION rowlock_lease_nonce() RETURNS uuid LANGUAGE sql AS 'SELECT NULL::uuid'",
	}
	for who, may := range map[string]string{
		"a stranger":           "",
		"a session that locks": "try acquire leave renew release in tx",
		"a session that checks and writes to protected tables": "check marks",
		"a session that checks":                                "check",
		"a session that locks and seals":                       "try acquire leave renew release in tx seal check",
		"a person who looks":                                   "view",
	} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			dsn := testenv.Postgres(t)
			db := open(t, dsn)
			exec(t, db, "SELECT rowlock_lease_seal('orders', 1, '00000000-0000-0000-0000-000000000001')")
			role := stranger(t, db)
			for _, grants := range granted(t, who) {
				exec(t, db, strings.ReplaceAll(grants, "TO app", "TO "+role))
			}
			own := as(t, dsn, role)
			for what, call := range calls {
				_, err := own.ExecContext(t.Context(), call)
				if strings.Contains(may, what) {
					assert.NoError(t, err, what)
					continue
				}
				require.Error(t, err, what)
				assert.Equal(t, "42501", sqlerror.State(err), "%s: %v", what, err)
			}
		})
	}
}

// A role that may only check, and read and lock the marks, writes to a protected table after a check, and is refused
// without.
func TestARoleThatMayOnlyCheckWritesToAProtectedTable(t *testing.T) {
	t.Parallel()
	dsn := testenv.Postgres(t)
	db := open(t, dsn)
	exec(t, db, "CREATE TABLE orders (id bigint PRIMARY KEY)")
	require.NoError(t, fence.Postgres(db).Protect(t.Context(), "orders", "orders"))
	a := next(t, db, answer{})
	require.NoError(t, seal(t.Context(), db, "orders", a))
	role := stranger(t, db)
	exec(t, db, "GRANT INSERT ON orders TO "+role)
	for _, grants := range granted(t, "a session that checks and writes to protected tables") {
		exec(t, db, strings.ReplaceAll(grants, "TO app", "TO "+role))
	}
	own := as(t, dsn, role)
	tx, err := own.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, check(t.Context(), tx, "orders", a))
	_, err = tx.ExecContext(t.Context(), "INSERT INTO orders VALUES (1)")
	require.NoError(t, err)
	require.NoError(t, tx.Commit())
	_, err = own.ExecContext(t.Context(), "INSERT INTO orders VALUES (2)")
	assert.Equal(t, "RLF01", sqlerror.State(err))
}

// stranger creates a role that may connect, and nothing else.
func stranger(t *testing.T, db *sql.DB) string {
	t.Helper()
	role := "sql_" + driver.NewNonce().String()[:8]
	exec(t, db, "CREATE ROLE "+role+" LOGIN")
	t.Cleanup(func() {
		_, err := db.Exec("DROP OWNED BY " + role)
		require.NoError(t, err)
		_, err = db.Exec("DROP ROLE " + role)
		require.NoError(t, err)
	})
	return role
}

// as returns a pool whose connections log in as role.
func as(t *testing.T, dsn, role string) *sql.DB {
	t.Helper()
	at, err := url.Parse(dsn)
	require.NoError(t, err)
	at.User = url.User(role)
	db, err := sql.Open("pgx", at.String())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

var block = regexp.MustCompile("(?s)```sql\n-- PostgreSQL: ([^\n]*)\n(.*?)```")

// granted returns the statements of the block of SECURITY.md for who.
func granted(t *testing.T, who string) (grants []string) {
	t.Helper()
	if who == "a stranger" {
		return nil
	}
	text, err := os.ReadFile("../../SECURITY.md")
	require.NoError(t, err)
	for _, b := range block.FindAllStringSubmatch(string(text), -1) {
		if b[1] == who {
			return []string{b[2]}
		}
	}
	t.Fatalf("SECURITY.md has no grants for %s", who)
	return nil
}
