package mysqlock

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// In a loop of short holds of one name, only the first two grants write a row. A status never takes an earlier grant of
// the loop for the present one. After its first renewal the present grant is described.
func TestALoopIsDescribedWhenItRenews(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		a, other := oneSession(s.open(t)), New(s.open(t))
		a.locks.Linger = ttl // the connection stays, however busy the machine is
		status := func() driver.Status {
			found, err := other.Inspect(limited(t), driver.Key{Name: "a"})
			require.NoError(t, err)
			return found
		}
		first := grant(t, a, "a")
		assert.Equal(t, first.Token, status().Token)
		se := a.locks.Sessions()[0].(*session)
		require.NoError(t, a.Release(limited(t), first))
		loop := func() driver.Grant { // a cycle of a busy machine may be longer than soonAgain, and then writes a row again
			for {
				g := grant(t, a, "a")
				if se.described[g.Key].written == 0 {
					return g
				}
				require.NoError(t, a.Release(limited(t), g))
			}
		}
		second := loop()
		found := status()
		assert.Equal(t, driver.StateHeld, found.State)
		assert.Zero(t, found.Token, "neither the first token nor, yet, the present one")
		assert.Regexp(t, "^connection [0-9]+ of root", found.Holder)
		require.NoError(t, a.Release(limited(t), second))

		third := loop()
		_, err := other.Acquire(limited(t), request("a"))
		assert.Regexp(t, "^connection [0-9]+ of root", refused(t, err).Holder)
		_, err = a.Renew(limited(t), []driver.Grant{third})
		require.NoError(t, err)
		becomes(t, "the renewal has described the grant", func() bool { return status().Token == third.Token })
		assert.Equal(t, "tester", status().Holder)
		require.NoError(t, other.ForceRelease(limited(t), third.Key, third.Token, true))
		assert.Greater(t, grant(t, other, "a").Token, third.Token)
	})
}

// A session remembers a limited number of names.
func TestASessionRemembersFewNames(t *testing.T) {
	t.Parallel()
	h := &holding{Key: driver.Key{Name: "new"}}
	db := openDB(t, "root@tcp(127.0.0.1:1)/none")
	db.SetMaxOpenConns(1) // so that nothing is written
	se := &session{backend: New(db), conn: &conn{}, described: map[driver.Key]description{}}
	for i := range mostDescribed {
		se.described[driver.Key{Name: string(rune('a' + i))}] = description{}
	}
	se.describe(t.Context(), h, 1)
	assert.Len(t, se.described, 1)
}
