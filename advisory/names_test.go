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
	for _, mode := range []func(string) driver.Request{request, reading} {
		g := grant(t, a, mode("a"))
		refuse(t, a, mode("b"))
		refuse(t, b, request("b"))
		require.ErrorIs(t, a.Release(t.Context(), driver.Grant{Key: driver.Key{Name: "b"}, Nonce: g.Nonce, Token: g.Token}), driver.ErrNotHeld)
		status, err := a.Inspect(t.Context(), driver.Key{Name: "b"})
		require.NoError(t, err)
		assert.Equal(t, driver.StateHeld, status.State)
		assert.Empty(t, status.Note, "the note belongs to the lock called a")
		require.NoError(t, a.Release(t.Context(), g))
		assert.Zero(t, w.locks())
		g = grant(t, a, mode("b"))
		require.NoError(t, a.Release(t.Context(), g))
	}
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
