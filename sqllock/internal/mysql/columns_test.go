package mysql

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// A program on MySQL or MariaDB needs only the privileges that SECURITY.md names, even after a change of server, and
// even for a TTL longer than longest_ttl_us. With these privileges the program can neither lower the floor of the
// tokens nor delete a name.
func TestMySQLNeedsOnlyTheseColumns(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		config, err := mysqldriver.ParseDSN(f.dsn)
		require.NoError(t, err)
		config.User, config.Passwd = "u"+driver.NewNonce().String()[:8], "Secret-1"
		f.Exec(t, fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY 'Secret-1'", config.User))
		t.Cleanup(func() { f.Exec(t, fmt.Sprintf("DROP USER '%s'@'%%'", config.User)) })
		for table, privileges := range map[string]string{
			"rowlock_lease":      "SELECT, INSERT, UPDATE",
			"rowlock_lease_meta": "SELECT, UPDATE (epoch, quarantined_until, longest_ttl_us)",
		} {
			f.Exec(t, fmt.Sprintf("GRANT %s ON `%s`.%s TO '%s'@'%%'", privileges, config.DBName, table, config.User))
		}
		db, err := sql.Open("mysql", config.FormatDSN())
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, db.Close()) })
		b := on(db)
		r := request("a")
		r.TTL = time.Hour
		g := mustAcquire(t, b, r)
		outcomes, err := b.Renew(limited(t), []driver.Grant{g})
		require.NoError(t, err)
		require.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
		require.NoError(t, b.ForceRelease(limited(t), g.Key, g.Token, true))
		require.NoError(t, b.Release(limited(t), mustAcquire(t, b, r)))
		lifeOfShares(t, f.Backend, b, "s")
		several := requests("m", "n")
		f.known(t, several)
		for _, err := range b.ReleaseEach(limited(t), together(t, b, several)) {
			require.NoError(t, err)
		}
		tx := begin(t, db)
		require.NoError(t, inTx(limited(t), b, tx, "b"))
		require.NoError(t, tx.Commit())
		f.Exec(t, "UPDATE rowlock_lease_meta SET epoch = 'another'")
		_, err = on(db).Acquire(limited(t), request("c"))
		requireHeld(t, err, driver.Quarantine)

		for _, statement := range []string{"UPDATE rowlock_lease_meta SET floor = 0", "DELETE FROM rowlock_lease", "DELETE FROM rowlock_lease_meta"} {
			_, err := db.ExecContext(t.Context(), statement)
			assert.ErrorContains(t, err, "denied", statement)
		}
	})
}
