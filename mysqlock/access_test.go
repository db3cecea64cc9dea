package mysqlock

import (
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// Locking needs only the privileges that the manual lists. Prune also needs DELETE, and returns an error
// if the user lacks it. A user without privileges gets an error that says so, and no lock stays held.
func TestFewPrivileges(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		few := []string{"SELECT, INSERT, UPDATE ON `%s`.rowlock_lease_counter", "SELECT, UPDATE ON `%s`.rowlock_lease_mint"}
		b := oneSession(s.open(t, s.as(t, few...)))
		first, second := grant(t, b, "a"), grant(t, b, "b")
		_, err := b.Acquire(limited(t), request("a"))
		refused(t, err)
		_, err = b.Renew(limited(t), []driver.Grant{first, second})
		require.NoError(t, err)
		list, err := b.List(limited(t), "", true)
		require.NoError(t, err)
		assert.Len(t, list, 2)
		require.NoError(t, b.ForceRelease(limited(t), first.Key, first.Token, true), "a connection of the same user")
		require.ErrorIs(t, b.Release(limited(t), second), driver.ErrNotHeld)
		_, err = b.Prune(limited(t), 0)
		require.ErrorContains(t, err, "lacks a privilege")
		assert.True(t, driver.IsPermanent(err))
		n, err := New(s.open(t, s.as(t, append(few, "DELETE ON `%s`.rowlock_lease_counter")...))).Prune(limited(t), 0)
		require.NoError(t, err)
		assert.Equal(t, 2, n)

		_, err = New(s.open(t, func(c *mysqldriver.Config) { c.User, c.Passwd = "nobody-of-that-name", "wrong" })).Acquire(limited(t), request("a"))
		require.ErrorContains(t, err, "the server refused the user")

		poor := New(s.open(t, s.as(t, "SELECT ON `%s`.rowlock_lease_meta")))
		_, err = poor.Acquire(limited(t), request("a"))
		require.ErrorContains(t, err, "lacks a privilege")
		assert.True(t, driver.IsPermanent(err))
		assert.Zero(t, s.holds(t, "a"))
	})
}

// Prune deletes the rows of names that are free and whose last grant is old enough. Tokens rise nevertheless.
func TestPrune(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		b := New(s.open(t))
		grant(t, b, "held")
		free := grant(t, b, "free")
		require.NoError(t, b.Release(limited(t), free))
		n, err := b.Prune(limited(t), time.Hour)
		require.NoError(t, err)
		assert.Zero(t, n)
		n, err = b.Prune(limited(t), 0)
		require.NoError(t, err)
		assert.Equal(t, 1, n)
		assert.Greater(t, grant(t, b, "free").Token, free.Token)
	})
}

// When a holder's host vanishes, the server releases its locks after at most wait_timeout.
func TestADeadMachine(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		db, proxy := s.through(t, func(c *mysqldriver.Config) { c.Params = map[string]string{"wait_timeout": "5"} })
		g := grant(t, New(db), "a")
		proxy.Cut()
		next, err := locker(t, New(s.open(t))).Acquire(limited(t), "a", rowlock.Holder("next"))
		require.NoError(t, err)
		assert.Greater(t, next.Token(), g.Token)
	})
}
