package mysql

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// Users may add triggers to the lease table. A trigger that inserts into a table with AUTO_INCREMENT hides the
// statement's own LAST_INSERT_ID. Locks are still granted, handed over, renewed and identified correctly.
func TestMySQLWorksUnderTriggers(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		f.Exec(t, "CREATE TABLE audit (id BIGINT AUTO_INCREMENT PRIMARY KEY, token BIGINT NOT NULL)")
		for _, moment := range []string{"BEFORE INSERT", "BEFORE UPDATE", "AFTER INSERT", "AFTER UPDATE"} {
			f.Exec(t, "CREATE TRIGGER audit_"+moment[:1]+moment[7:8]+moment[len(moment)-6:]+" "+moment+" ON rowlock_lease FOR EACH ROW INSERT INTO audit (token) VALUES (NEW.token)")
		}
		r := request("a")
		first := mustAcquire(t, f, r)
		assert.Equal(t, first, mustAcquire(t, f, r), "asked again")
		_, err := f.Acquire(limited(t), request("a"))
		requireHeld(t, err, driver.Leased)
		second, err := f.HandOver(limited(t), first, request("a"))
		require.NoError(t, err)
		assert.Greater(t, second.Token, first.Token)
		outcomes, err := f.Renew(limited(t), []driver.Grant{first, second})
		require.NoError(t, err)
		assert.Equal(t, []driver.Outcome{driver.Lost, driver.Renewed}, outcomes)
		require.NoError(t, f.Release(limited(t), second))
		third := mustAcquire(t, f, request("a"))
		assert.Greater(t, third.Token, second.Token)
		assert.EqualValues(t, third.Token, f.int(t, "SELECT token FROM rowlock_lease WHERE name = 'a'"))
		third.Done = "tick"
		require.NoError(t, f.Release(limited(t), third))
		fourth := mustAcquire(t, f, request("a"))
		assert.Equal(t, "tick", fourth.Done)
		assert.EqualValues(t, fourth.Token, f.int(t, "SELECT token FROM rowlock_lease WHERE name = 'a'"))
		require.NoError(t, f.Release(limited(t), fourth))
		assert.Positive(t, f.int(t, "SELECT COUNT(*) FROM audit"))
	})
}

// If a trigger hides a grant's token, and the statement that reads the token cannot be sent, the outcome of the grant
// is unknown. A caller that then stops waiting releases the grant.
func TestMySQLAGrantWhoseTokenIsHiddenIsInDoubt(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		f.Exec(t, "CREATE TABLE audit (id BIGINT AUTO_INCREMENT PRIMARY KEY, token BIGINT NOT NULL)")
		f.Exec(t, "CREATE TRIGGER audit_update AFTER UPDATE ON rowlock_lease FOR EACH ROW INSERT INTO audit (token) VALUES (NEW.token)")
		require.NoError(t, f.Release(limited(t), mustAcquire(t, f, request("a"))))
		s, err := f.Backend.server(limited(t)) //nolint:forcetypeassert // the server is MySQL
		require.NoError(t, err)
		s.sql["granted"] = "SELECT none FROM nowhere"
		r := request("a")
		_, err = f.Acquire(limited(t), r)
		require.Error(t, err)
		assert.False(t, driver.IsNotApplied(err), "%v", err)
		require.NoError(t, f.Release(limited(t), driver.Grant{Key: r.Key, Nonce: r.Nonce}), "it was granted")
	})
}
