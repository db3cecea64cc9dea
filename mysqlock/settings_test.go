package mysqlock

import (
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/migrations"
)

// proven checks that two locks of one connection are proven, and released.
func proven(t *testing.T, b *Backend) {
	t.Helper()
	grants := []driver.Grant{grant(t, b, "a"), grant(t, b, "b")}
	for range 3 { // the statement is prepared with the second
		outcomes, err := b.Renew(limited(t), grants)
		require.NoError(t, err)
		require.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, outcomes)
	}
	for _, g := range grants {
		require.NoError(t, b.Release(limited(t), g))
	}
	idle(t, b)
}

// Locks live in a schema of any character set: MariaDB knows the names of locks as bytes.
func TestCharacterSetOfTheSchema(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		for _, set := range []string{"utf16", "utf32", "latin1", "binary"} {
			other := s.schema + "_" + set
			_, err := s.raw.Exec("CREATE DATABASE " + other + " CHARACTER SET " + set)
			require.NoError(t, err)
			t.Cleanup(func() { _, _ = s.raw.Exec("DROP DATABASE " + other) })
			db := s.open(t, func(c *mysqldriver.Config) { c.DBName = other })
			require.NoError(t, migrations.Up(t.Context(), db, migrations.MySQL))
			b := New(db)
			proven(t, b)
			list, err := b.List(limited(t), "", true)
			require.NoError(t, err)
			assert.Len(t, list, 2, set)
		}
	})
}

// A session that answers with few rows proves all of its locks.
func TestFewRows(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		proven(t, New(s.open(t, func(c *mysqldriver.Config) { c.Params = map[string]string{"sql_select_limit": "1"} })))
	})
}
