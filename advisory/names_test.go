package advisory_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
)

// Key returns the same numbers in every version, because other programs use them to lock the same names.
func TestKeyVectors(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		namespace, name string
		key             int64
	}{
		{"", "nightly-report", 3476940109322798189},
		{"billing", "nightly-report", -1245252141659388097},
		{"", "Nightly-Report", -830551324201594690},
		{"", "nightly-report ", 2288308883408508436},
		{"a", "bc", 4141080591918389201},
		{"ab", "c", -4973735515903169305},
		{"", "世界 🔒", 943004209153606518},
	} {
		assert.Equal(t, v.key, advisory.Key(v.namespace, v.name), "%q %q", v.namespace, v.name)
	}
}

// Two names with the same key exclude each other within one backend, as they do between two processes. One backend
// never holds both at the same time, although the server would grant the key to one session twice.
func TestCollidingNamesExcludeEachOther(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	one := func(driver.Key) int64 { return 42 }
	a := advisory.New(openPool(t, dsn), advisory.Sessions(1)).WithKey(one)
	b := advisory.New(openPool(t, dsn)).WithKey(one)
	w := watch(t, dsn)
	for _, shared := range []bool{false, true} {
		first, second, other := a, a, b
		if shared {
			first, second, other = a.Shared(), a.Shared(), b
		}
		g := acquire(t, first, "a")
		refused(t, second, "b")
		refused(t, other, "b")
		require.ErrorIs(t, first.Release(t.Context(), driver.Grant{Key: driver.Key{Name: "b"}, Nonce: g.Nonce, Token: g.Token}), driver.ErrNotHeld)
		status, err := a.Inspect(t.Context(), driver.Key{Name: "b"})
		require.NoError(t, err)
		assert.Equal(t, driver.StateHeld, status.State)
		assert.Empty(t, status.Note, "the note belongs to the lock called a")
		require.NoError(t, first.Release(t.Context(), g))
		assert.Zero(t, w.locks())
		g = acquire(t, second, "b")
		require.NoError(t, second.Release(t.Context(), g))
	}
}

// Several shared grants of a name can be held at the same time, in one process and in two.
// Shared and exclusive grants exclude each other. Each grant is released separately.
func TestShared(t *testing.T) {
	eachPool(t, func(t *testing.T, open func(string, ...advisory.Option) *advisory.Backend) {
		dsn := database(t)
		a, b, w := open(dsn), open(dsn), watch(t, dsn)
		first, second, third := acquire(t, a.Shared(), "x"), acquire(t, a.Shared(), "x"), acquire(t, b.Shared(), "x")
		assert.Less(t, first.Token, second.Token)
		assert.Less(t, second.Token, third.Token)
		outcomes, err := a.Shared().Renew(t.Context(), []driver.Grant{first, second, third})
		require.NoError(t, err)
		assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed, driver.Lost}, outcomes)
		require.ErrorIs(t, a.Release(t.Context(), first), driver.ErrNotHeld, "the grant is a shared one")
		for _, g := range []driver.Grant{first, second} {
			refused(t, a, "x")
			refused(t, b, "x")
			require.NoError(t, a.Shared().Release(t.Context(), g))
		}
		refused(t, a, "x")
		require.NoError(t, b.Shared().Release(t.Context(), third))
		g := acquire(t, a, "x")
		refused(t, a.Shared(), "x")
		refused(t, b.Shared(), "x")
		require.NoError(t, a.Release(t.Context(), g))
		assert.Zero(t, w.locks())
	})
}

// A repeated release succeeds while the backend remembers the first release. The backend forgets old releases.
func TestReleaseIsRememberedForAWhile(t *testing.T) {
	t.Parallel()
	b := advisory.New(openPool(t, database(t)))
	first := acquire(t, b, "a")
	require.NoError(t, b.Release(t.Context(), first))
	for range advisory.MemoryOfReleases {
		require.NoError(t, b.Release(t.Context(), first))
		require.NoError(t, b.Release(t.Context(), acquire(t, b, "a")))
	}
	require.ErrorIs(t, b.Release(t.Context(), first), driver.ErrNotHeld)
}
