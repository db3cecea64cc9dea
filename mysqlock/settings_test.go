package mysqlock

import (
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/migrations"
)

// The function proven acquires two locks on one connection. It checks that they can be renewed and released.
func proven(t *testing.T, b *Backend) {
	t.Helper()
	grants := []driver.Grant{grant(t, b, "a"), grant(t, b, "b")}
	for range 3 { // more than twice, because a statement is prepared at its second use
		outcomes, err := b.Renew(limited(t), grants)
		require.NoError(t, err)
		require.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, outcomes)
	}
	for _, g := range grants {
		require.NoError(t, b.Release(limited(t), g))
	}
	idle(t, b)
}

// Locks work in a schema of any character set. This needs a test because MariaDB compares lock names as bytes,
// and the bytes depend on the character set.
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

// Session settings of the caller's pool do not affect the backend. With each setting, the backend lists all locks,
// renews its own locks, and force-releases a lock of another backend.
func TestSessionSettingsChangeNothing(t *testing.T) {
	settings := map[string]map[string]string{
		"few rows":         {"sql_select_limit": "1"},
		"utf16 connection": {"collation_connection": "utf16_general_ci"}, // MySQL only
		"binary":           {"character_set_results": "binary", "collation_connection": "binary"},
		"small selects":    {"sql_big_selects": "0", "max_join_size": "10000"},
		"safe updates":     {"sql_safe_updates": "1", "sql_select_limit": "1000", "max_join_size": "1000000"},
		"empty is null":    {"sql_mode": "'EMPTY_STRING_IS_NULL'"}, // MariaDB only
		"ANSI":             {"sql_mode": "'ANSI_QUOTES,PIPES_AS_CONCAT,IGNORE_SPACE,NO_BACKSLASH_ESCAPES'"},
	}
	onBoth(t, func(t *testing.T, s *store) {
		plain := New(s.open(t))
		for name, params := range settings {
			if s.mariadb && name == "utf16 connection" || !s.mariadb && name == "empty is null" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				b := New(s.open(t, func(c *mysqldriver.Config) { c.Params = params }))
				proven(t, b)
				first, second := grant(t, plain, "of another"), grant(t, b, "Zoë 🔒")
				list, err := b.List(limited(t), "", true)
				require.NoError(t, err)
				all, err := plain.List(limited(t), "", true)
				require.NoError(t, err)
				require.Len(t, list, len(all))
				_, err = b.Acquire(limited(t), request("of another"))
				refused(t, err)
				status, err := b.Inspect(limited(t), first.Key)
				require.NoError(t, err)
				assert.Equal(t, first.Token, status.Token)
				assert.Equal(t, "tester", status.Holder)
				require.NoError(t, b.ForceRelease(limited(t), first.Key, first.Token, true))
				require.NoError(t, b.Release(limited(t), second))
				_, err = b.Prune(limited(t), 0)
				require.NoError(t, err)
				idle(t, b)
			})
		}
	})
}
