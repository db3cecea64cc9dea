package sqllock

import (
	"database/sql"
	"fmt"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// as is a pool of a user who has just these privileges on the two tables.
func (f *mysqlFixture) as(t *testing.T, privileges string) *sql.DB {
	t.Helper()
	config, err := mysqldriver.ParseDSN(f.dsn)
	require.NoError(t, err)
	user := "u" + driver.NewNonce().String()[:8]
	f.exec(t, fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY 'Secret-1'", user))
	t.Cleanup(func() { f.exec(t, fmt.Sprintf("DROP USER '%s'@'%%'", user)) })
	for _, table := range []string{"rowlock_lease", "rowlock_lease_meta"} {
		f.exec(t, fmt.Sprintf("GRANT %s ON `%s`.%s TO '%s'@'%%'", privileges, config.DBName, table, user))
	}
	config.User, config.Passwd = user, "Secret-1"
	connector, err := mysqldriver.NewConnector(config)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// Locking needs SELECT, INSERT and UPDATE on the two tables, and nothing else; only Prune needs
// DELETE, and says so.
func TestMySQLNeedsFewPrivileges(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *mysqlFixture) {
		db := f.as(t, "SELECT, INSERT, UPDATE")
		b := MySQL(db)
		g := mustAcquire(t, b, mysqlRequest("a"))
		_, err := b.Acquire(limited(t), mysqlRequest("a"))
		requireHeld(t, err, driver.Leased)
		_, err = b.Renew(limited(t), []driver.Grant{g})
		require.NoError(t, err)
		_, err = b.List(limited(t), "", true)
		require.NoError(t, err)
		require.NoError(t, b.Release(limited(t), g))
		tx := begin(t, db)
		require.NoError(t, b.InTx(limited(t), tx, "b"))
		require.NoError(t, tx.Commit())
		g = mustAcquire(t, b, mysqlRequest("a"))
		require.NoError(t, b.ForceRelease(limited(t), g.Key, g.Token, true))

		_, err = b.Prune(limited(t), 0)
		require.Error(t, err)
		assert.True(t, driver.IsPermanent(err), "%v", err)
		assert.Contains(t, err.Error(), "lacks access")
		n, err := MySQL(f.as(t, "SELECT, INSERT, UPDATE, DELETE")).Prune(limited(t), 0)
		require.NoError(t, err)
		assert.Equal(t, 2, n)

		_, err = MySQL(f.as(t, "SELECT")).Acquire(limited(t), mysqlRequest("a"))
		assert.True(t, driver.IsPermanent(err), "%v", err)
	})
}

// A password that is wrong is not taken for a privilege that is missing.
func TestMySQLSaysWhoIsNotLetIn(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *mysqlFixture) {
		config, err := mysqldriver.ParseDSN(f.dsn)
		require.NoError(t, err)
		config.User, config.Passwd = "nobody-of-that-name", "wrong"
		connector, err := mysqldriver.NewConnector(config)
		require.NoError(t, err)
		db := sql.OpenDB(connector)
		defer db.Close()
		_, err = MySQL(db).Acquire(limited(t), mysqlRequest("a"))
		assert.True(t, driver.IsPermanent(err), "%v", err)
		require.ErrorContains(t, err, "the server does not let the user in")
		require.NotContains(t, err.Error(), "lacks access")
	})
}

// Tables that are not there, not up to date, or empty are told apart from everything else.
func TestMySQLSchemaError(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *mysqlFixture) {
		check := func(b *Backend) {
			t.Helper()
			_, acquired := b.Acquire(limited(t), mysqlRequest("a"))
			_, listed := b.List(limited(t), "", true)
			for _, err := range []error{acquired, listed} {
				var schema *SchemaError
				require.ErrorAs(t, err, &schema)
				assert.True(t, driver.IsPermanent(err))
				assert.Contains(t, err.Error(), "rowlock migrate up")
			}
		}
		check(MySQL(f.db, Table("elsewhere")))
		check(MySQL(f.db, Table("nowhere.rowlock_lease")))
		f.exec(t, "DELETE FROM rowlock_lease_meta")
		var schema *SchemaError
		_, err := f.Acquire(limited(t), mysqlRequest("a"))
		require.ErrorAs(t, err, &schema)
		f.exec(t, "ALTER TABLE rowlock_lease DROP COLUMN note")
		check(f.Backend)
	})
}

// A server that takes no writes is named as such, and not asked again.
func TestMySQLReadOnly(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *mysqlFixture) {
		mustAcquire(t, f, mysqlRequest("a"))
		params := map[string]string{"transaction_read_only": "1"}
		if f.mariadb {
			params = map[string]string{"tx_read_only": "1"}
		}
		_, err := MySQL(f.open(t, params)).Acquire(limited(t), mysqlRequest("b"))
		require.Error(t, err)
		assert.True(t, driver.IsPermanent(err), "%v", err)
		assert.Contains(t, err.Error(), "primary")
	})
	for _, number := range []uint16{1290, 1792, 1836} {
		err := (&mysql{}).classify(limited(t), "acquire", driver.Key{}, &mysqldriver.MySQLError{Number: number})
		assert.True(t, driver.IsPermanent(err))
		assert.Contains(t, err.Error(), "primary")
	}
}

// A server that cannot be reached has certainly done nothing.
func TestMySQLUnreachable(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("mysql", "root@tcp(127.0.0.1:1)/x")
	require.NoError(t, err)
	defer db.Close()
	_, err = MySQL(db).Acquire(limited(t), mysqlRequest("a"))
	require.Error(t, err)
	assert.True(t, driver.IsNotApplied(err) && !driver.IsPermanent(err), "%v", err)
}
