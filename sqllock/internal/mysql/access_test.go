package mysql

import (
	"database/sql"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// Locking needs only SELECT, INSERT and UPDATE on the lease table and the meta table. Only Prune also needs DELETE,
// and its error says that the privilege is missing.
func TestMySQLNeedsFewPrivileges(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		db := f.as(t, "SELECT, INSERT, UPDATE")
		b := on(db)
		g := mustAcquire(t, b, request("a"))
		_, err := b.Acquire(limited(t), request("a"))
		requireHeld(t, err, driver.Leased)
		_, err = b.Renew(limited(t), []driver.Grant{g})
		require.NoError(t, err)
		_, err = b.List(limited(t), "", true)
		require.NoError(t, err)
		require.NoError(t, b.Release(limited(t), g))
		tx := begin(t, db)
		require.NoError(t, inTx(limited(t), b, tx, "b"))
		require.NoError(t, tx.Commit())
		g = mustAcquire(t, b, request("a"))
		require.NoError(t, b.ForceRelease(limited(t), g.Key, g.Token, true))

		_, err = b.Prune(limited(t), 0)
		require.Error(t, err)
		assert.True(t, driver.IsPermanent(err), "%v", err)
		assert.Contains(t, err.Error(), "lacks access")
		n, err := on(f.as(t, "SELECT, INSERT, UPDATE, DELETE")).Prune(limited(t), 0)
		require.NoError(t, err)
		assert.Equal(t, 2, n)

		_, err = on(f.as(t, "SELECT")).Acquire(limited(t), request("a"))
		assert.True(t, driver.IsPermanent(err), "%v", err)
	})
}

// A wrong password is not reported as a missing privilege.
func TestMySQLSaysWhoIsNotLetIn(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		config, err := mysqldriver.ParseDSN(f.dsn)
		require.NoError(t, err)
		config.User, config.Passwd = "nobody-of-that-name", "wrong"
		connector, err := mysqldriver.NewConnector(config)
		require.NoError(t, err)
		db := sql.OpenDB(connector)
		defer db.Close()
		_, err = on(db).Acquire(limited(t), request("a"))
		assert.True(t, driver.IsPermanent(err), "%v", err)
		require.ErrorContains(t, err, "the server refused the user")
		require.NotContains(t, err.Error(), "lacks access")
	})
}

// If the tables are missing or outdated, or the meta table is empty, calls fail with a SchemaError.
func TestMySQLSchemaError(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		check := func(b *Backend) {
			t.Helper()
			_, acquired := b.Acquire(limited(t), request("a"))
			_, listed := b.List(limited(t), "", true)
			for _, err := range []error{acquired, listed} {
				var schema *sqlbase.SchemaError
				require.ErrorAs(t, err, &schema)
				assert.True(t, driver.IsPermanent(err))
				assert.Contains(t, err.Error(), "rowlock migrate up")
			}
		}
		check(New(f.db, table("elsewhere")))
		check(New(f.db, table("nowhere.rowlock_lease")))
		f.Exec(t, "DELETE FROM rowlock_lease_meta")
		var schema *sqlbase.SchemaError
		_, err := f.Acquire(limited(t), request("a"))
		require.ErrorAs(t, err, &schema)
		f.Exec(t, "ALTER TABLE rowlock_lease DROP COLUMN note")
		check(f.Backend)
	})
}

// On a read-only server, the error says so, and the call is not retried.
func TestMySQLReadOnly(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		mustAcquire(t, f, request("a"))
		params := map[string]string{"transaction_read_only": "1"}
		if f.mariadb {
			params = map[string]string{"tx_read_only": "1"}
		}
		_, err := on(f.open(t, params)).Acquire(limited(t), request("b"))
		require.Error(t, err)
		assert.True(t, driver.IsPermanent(err), "%v", err)
		assert.Contains(t, err.Error(), "primary")
	})
	for _, number := range []uint16{1290, 1792, 1836} {
		err := (&Backend{}).classify(limited(t), "acquire", driver.Key{}, &mysqldriver.MySQLError{Number: number})
		assert.True(t, driver.IsPermanent(err))
		assert.Contains(t, err.Error(), "primary")
	}
}

// If the server cannot be reached, the error says that the call had no effect.
func TestMySQLUnreachable(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("mysql", "root@tcp(127.0.0.1:1)/x")
	require.NoError(t, err)
	defer db.Close()
	_, err = on(db).Acquire(limited(t), request("a"))
	require.Error(t, err)
	assert.True(t, driver.IsNotApplied(err) && !driver.IsPermanent(err), "%v", err)
}
