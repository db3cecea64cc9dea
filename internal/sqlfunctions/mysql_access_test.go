package sqlfunctions_test

import (
	"database/sql"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/sqlerror"
)

var mysqlBlock = regexp.MustCompile("(?s)```sql\n-- MySQL and MariaDB: ([^\n]*)\n(.*?)```")

// mysqlGrants returns the statements of the block of SECURITY.md for who.
func mysqlGrants(t *testing.T, who string) (grants []string) {
	t.Helper()
	if who == "a stranger" {
		return nil
	}
	text, err := os.ReadFile("../../SECURITY.md")
	require.NoError(t, err)
	for _, b := range mysqlBlock.FindAllStringSubmatch(string(text), -1) {
		if b[1] == who {
			return strings.Split(strings.TrimSpace(b[2]), "\n")
		}
	}
	t.Fatalf("SECURITY.md has no grants for %s", who)
	return nil
}

// mysqlAs returns a pool of a new user that has the grants of SECURITY.md for who, and no others.
func mysqlAs(t *testing.T, db *sql.DB, dsn, who string, more ...string) *sql.DB {
	t.Helper()
	user := "sql_" + driver.NewNonce().String()[:8]
	execMySQL(t, db, "CREATE USER "+user+" IDENTIFIED BY 'Secret-1'")
	t.Cleanup(func() {
		_, err := db.Exec("DROP USER " + user)
		require.NoError(t, err)
	})
	config := mysqlConfig(t, dsn)
	for _, grant := range append(mysqlGrants(t, who), more...) {
		grant = strings.ReplaceAll(strings.ReplaceAll(grant, " TO app", " TO "+user), " app.", " `"+config.DBName+"`.")
		execMySQL(t, db, grant)
	}
	config.User, config.Passwd = user, "Secret-1"
	config.DBName = "" // a user without any right on the database may not enter it
	own, err := sql.Open("mysql", config.FormatDSN())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, own.Close()) })
	return own
}

// Each block of grants in SECURITY.md allows exactly the calls that the page says: a user that may only check cannot
// lock, and a user that may only lock cannot seal. None of them can read or write the tables.
func TestTheGrantsOfTheProceduresAreWhatTheySay(t *testing.T) {
	calls := map[string]string{
		"try":     "CALL `DB`.rowlock_lease_try_acquire('a', 60, NULL, NULL, NULL, NULL, @nonce, @verdict, @token, @held_by, @free_in, @ahead)",
		"acquire": "CALL `DB`.rowlock_lease_acquire(UUID(), 0, 60, NULL, NULL, NULL, @other, @token)",
		"leave":   "CALL `DB`.rowlock_lease_leave('b', UUID(), NULL)",
		"renew":   "CALL `DB`.rowlock_lease_renew('c', UUID(), 1, 60, NULL, @renewed)",
		"release": "CALL `DB`.rowlock_lease_release('d', UUID(), 1, NULL, @released)",
		"begin":   "CALL `DB`.rowlock_lease_begin('g', 0, NULL); COMMIT",
		"seal":    "CALL `DB`.rowlock_lease_seal('f', 1, UUID(), NULL, NULL)",
		"check":   "START TRANSACTION; CALL `DB`.rowlock_lease_check('orders', 1, '00000000-0000-0000-0000-000000000001', NULL); COMMIT",
		"view":    "SELECT 1 FROM `DB`.rowlock_lease_locks",
		"core":    "CALL `DB`.rowlock_lease_do_ttl(1)",
		"look":    "SELECT 1 FROM `DB`.rowlock_lease",
		"write":   "UPDATE `DB`.rowlock_lease SET token = 0",
		"marks":   "SELECT 1 FROM `DB`.rowlock_lease_fence",
		"meta":    "UPDATE `DB`.rowlock_lease_meta SET floor = 0",
		"replace": "DROP PROCEDURE `DB`.rowlock_lease_check",
	}
	onBoth(t, func(t *testing.T, db *sql.DB, dsn string) {
		execMySQL(t, db, "CALL rowlock_lease_seal('orders', 1, '00000000-0000-0000-0000-000000000001', NULL, NULL)")
		name := mysqlConfig(t, dsn).DBName
		for who, may := range map[string]string{
			"a stranger":                     "",
			"a session that locks":           "try acquire leave renew release begin",
			"a session that checks":          "check",
			"a session that locks and seals": "try acquire leave renew release begin seal check",
			"a person who looks":             "view",
		} {
			own := mysqlAs(t, db, dsn, who)
			own.SetMaxOpenConns(1)
			for what, call := range calls {
				_, err := own.ExecContext(t.Context(), "ROLLBACK; "+strings.ReplaceAll(call, "DB", name)) // a refused check leaves its transaction open
				if strings.Contains(may, what) {
					assert.NoError(t, err, "%s: %s", who, what)
					continue
				}
				require.Error(t, err, "%s: %s", who, what)
				assert.Contains(t, []uint16{1044, 1142, 1143, 1370}, sqlerror.MySQL(err), "%s: %s: %v", who, what, err)
			}
		}
	})
}

// A user of the whole database's procedures (GRANT EXECUTE ON app.*) may not run the statements below the procedures,
// because those have the rights of their caller.
func TestTheCoreProceduresHaveTheRightsOfTheirCaller(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, dsn string) {
		own := mysqlAs(t, db, dsn, "a stranger", "GRANT EXECUTE ON app.* TO app")
		_, err := own.ExecContext(t.Context(), "CALL `"+mysqlConfig(t, dsn).DBName+"`.rowlock_lease_do_ttl(1)")
		assert.Contains(t, []uint16{1142, 1143}, sqlerror.MySQL(err), "%v", err)
	})
}

// A user that may only check, and write to a protected table, writes after a check, and is refused without.
func TestAUserThatMayOnlyCheckWritesToAProtectedTable(t *testing.T) {
	onBoth(t, func(t *testing.T, db *sql.DB, dsn string) {
		execMySQL(t, db, "CREATE TABLE orders (id BIGINT PRIMARY KEY)")
		require.NoError(t, fence.MySQL(db).Protect(t.Context(), "orders", "orders"))
		a := nextOnMySQL(t, db, answer{})
		require.NoError(t, callSeal(t.Context(), db, "orders", a))
		own := mysqlAs(t, db, dsn, "a session that checks", "GRANT INSERT ON app.orders TO app")
		name := "`" + mysqlConfig(t, dsn).DBName + "`."
		own.SetMaxOpenConns(1)
		_, err := own.ExecContext(t.Context(), "INSERT INTO "+name+"orders VALUES (2)")
		assert.EqualValues(t, unchecked, sqlerror.MySQL(err))
		_, err = own.ExecContext(t.Context(), "START TRANSACTION; CALL "+name+"rowlock_lease_check('orders', ?, ?, NULL); INSERT INTO "+name+"orders VALUES (1); COMMIT", a.token, a.nonce)
		require.NoError(t, err)
	})
}
