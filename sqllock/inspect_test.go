package sqllock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// Inspect returns the state, holder, note, token and times of a lock. The times come from the store's clock.
func TestInspectTellsTheState(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		assert.Equal(t, driver.Status{Key: driver.Key{Name: "unseen"}}, inspect(t, b, "unseen"))
		r := request("job")
		r.HandoverDelay = time.Minute
		g := acquire(t, b, r)
		s.grow(t, 12*time.Second)
		st := inspect(t, b, "job")
		assert.Equal(t, driver.Status{
			Key: r.Key, State: driver.StateHeld, Token: g.Token, Holder: r.Holder, Note: r.Note,
			Age: st.Age, ExpiresIn: st.ExpiresIn, FreeIn: st.FreeIn,
		}, st)
		near(t, 12*time.Second, st.Age, "age")
		near(t, 18*time.Second, st.ExpiresIn, "expires in")
		near(t, 78*time.Second, st.FreeIn, "free in")
		s.grow(t, time.Minute)
		st = inspect(t, b, "job")
		assert.Equal(t, driver.StateClosed, st.State)
		near(t, -42*time.Second, st.ExpiresIn, "expired")
		near(t, 18*time.Second, st.FreeIn, "free in")
		s.grow(t, time.Minute)
		st = inspect(t, b, "job")
		assert.Equal(t, driver.StateExpired, st.State)
		assert.Zero(t, st.FreeIn)
		require.NoError(t, b.Release(t.Context(), g))
		assert.Equal(t, driver.StateFree, inspect(t, b, "job").State)
	})
}

// A list is ordered by namespace and name, byte by byte. It covers one namespace or all namespaces.
func TestListIsOrdered(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		list, err := b.List(t.Context(), "", true)
		require.NoError(t, err)
		assert.Empty(t, list)
		want := []driver.Key{{Name: "B"}, {Name: "a"}, {Name: "b"}, {Name: "é"}, {Namespace: "Z", Name: "x"}, {Namespace: "a", Name: "a"}}
		for _, i := range []int{3, 0, 5, 1, 4, 2} {
			r := request("")
			r.Key = want[i]
			acquire(t, b, r)
		}
		keys := func(namespace string, all bool) (keys []driver.Key) {
			list, err := b.List(t.Context(), namespace, all)
			require.NoError(t, err)
			for _, st := range list {
				keys = append(keys, st.Key)
				assert.Equal(t, driver.StateHeld, st.State)
			}
			return keys
		}
		assert.Equal(t, want, keys("", true))
		assert.Equal(t, want[:4], keys("", false))
		assert.Equal(t, want[4:5], keys("Z", false))
		assert.Empty(t, keys("z", false))
	})
}

// A forced release ends only the grant with the given token, and fences the holder. If the lease has not expired, it
// ends the grant only if the parameter live is true.
func TestForceRelease(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		ctx := t.Context()
		require.ErrorIs(t, b.ForceRelease(ctx, driver.Key{Name: "unseen"}, 1, true), driver.ErrNotHeld)
		g := acquire(t, b, request("job"))
		require.ErrorIs(t, b.ForceRelease(ctx, g.Key, g.Token-1, true), driver.ErrNotHeld, "another token")
		h := held(t, b.ForceRelease(ctx, g.Key, g.Token, false))
		assert.Equal(t, driver.Leased, h.Reason)
		assert.Equal(t, g.Token, h.Token)
		assert.Equal(t, "tester job", h.Holder)
		near(t, 30*time.Second, h.ExpiresIn, "alive")
		require.NoError(t, b.ForceRelease(ctx, g.Key, g.Token, true))
		assert.Greater(t, inspect(t, b, "job").Token, g.Token, "the old holder is fenced")
		require.Equal(t, []driver.Outcome{driver.Lost}, renew(t, b, g))
		require.ErrorIs(t, b.Release(ctx, g), driver.ErrNotHeld)
		require.ErrorIs(t, b.ForceRelease(ctx, g.Key, inspect(t, b, "job").Token, true), driver.ErrNotHeld, "nobody holds it")

		g = acquire(t, b, request("job"))
		s.grow(t, time.Minute)
		require.NoError(t, b.ForceRelease(ctx, g.Key, g.Token, false), "expired")
		assert.Equal(t, driver.StateFree, inspect(t, b, "job").State)
	})
}

// A forced release frees a lock that the hand-over delay or minimum hold of an earlier grant keeps unavailable.
func TestForceReleaseOpensAClosedLock(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		r := request("job")
		r.MinHold, r.HandoverDelay = time.Hour, time.Hour
		g := acquire(t, b, r)
		require.NoError(t, b.Release(t.Context(), g))
		require.Equal(t, driver.MinHold, refused(t, b, request("job")).Reason)
		require.NoError(t, b.ForceRelease(t.Context(), g.Key, g.Token, false))
		g = acquire(t, b, r)
		s.grow(t, time.Minute)
		require.Equal(t, driver.Handover, refused(t, b, request("job")).Reason)
		require.NoError(t, b.ForceRelease(t.Context(), g.Key, g.Token, false))
		acquire(t, b, request("job"))
	})
}
