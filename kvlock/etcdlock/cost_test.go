package etcdlock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// Acquire and release commit once each, also in shared mode. A refused attempt and a waiter's new entry also commit
// once each. The renewal of any number of locks commits nothing. A hundred locks use one session.
func TestCommitsOfEachOperation(t *testing.T) {
	t.Parallel()
	const times = 100
	s := counted(t)
	b := etcdlock.New(connect(t, s.DSN))
	held, err := b.Acquire(t.Context(), request("held"))
	require.NoError(t, err)
	var grants []driver.Grant
	measure := func(what string, want int, once func(i int) error) {
		before := metric(t, s.DSN, commits)
		for i := range times {
			require.NoError(t, once(i), what)
		}
		got := metric(t, s.DSN, commits) - before
		t.Logf("%s: %.2f commits", what, float64(got)/times)
		assert.InDelta(t, want*times, got, 3, what) // the server sometimes makes commits of its own
	}
	measure("acquire", 1, func(i int) error {
		g, err := b.Acquire(t.Context(), request(fmt.Sprint(i)))
		grants = append(grants, g)
		return err
	})
	measure("refusal", 1, func(int) error {
		_, err := b.Acquire(t.Context(), request("held"))
		var held *driver.Held
		if !errors.As(err, &held) {
			return fmt.Errorf("want driver.Held, got %w", err)
		}
		return nil
	})
	measure("renewal of a hundred", 0, func(int) error {
		outcomes, err := b.Renew(t.Context(), grants)
		for _, o := range outcomes {
			assert.Equal(t, driver.Renewed, o)
		}
		return err
	})
	measure("release", 1, func(i int) error { return b.Release(t.Context(), grants[i]) })
	var shares []driver.Grant
	measure("acquire, shared", 1, func(int) error {
		g, err := b.Acquire(t.Context(), reading("read"))
		shares = append(shares, g)
		return err
	})
	measure("release, shared", 1, func(i int) error { return b.Release(t.Context(), shares[i]) })
	n := &network{direct: connect(t, s.DSN), watching: b}
	measure("hand-over: release and an entry in the queue", 2, func(int) error {
		next := queuedGrant(t, n, b, t.Context(), request("held"))
		if err := b.Release(t.Context(), held); err != nil {
			return err
		}
		granted := <-next
		held = granted.Grant
		return granted.err
	})
}

// When the database is full, acquiring fails at once with an error that says so. Held locks can still be renewed and
// released. A release that should record a tick ends the lock, but reports that the tick may be missing.
func TestAFullDatabase(t *testing.T) {
	t.Parallel()
	s := aloneWith(t, testserver.Options{Args: []string{"--quota-backend-bytes=2000000"}})
	client := connect(t, s.DSN)
	b := etcdlock.New(client)
	g, err := b.Acquire(t.Context(), request("a"))
	require.NoError(t, err)
	once, err := b.Acquire(t.Context(), request("once"))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := client.Put(t.Context(), "filler"+driver.NewNonce().String(), strings.Repeat("x", 100_000))
		return err != nil
	}, 30*time.Second, time.Millisecond)
	_, err = b.Acquire(t.Context(), request("b"))
	require.True(t, driver.IsNotApplied(err), "%v", err)
	outcomes, err := b.Renew(t.Context(), []driver.Grant{g})
	require.NoError(t, err)
	require.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
	require.NoError(t, b.Release(t.Context(), g))

	once.Done = "tick"
	err = b.Release(t.Context(), once)
	require.ErrorIs(t, err, rpctypes.ErrNoSpace)
	require.ErrorContains(t, err, "may have recorded no tick")
	require.False(t, driver.IsNotApplied(err))
	status, err := b.Inspect(t.Context(), once.Key)
	require.NoError(t, err)
	require.Equal(t, driver.Status{Key: once.Key}, status)
	require.ErrorIs(t, b.Release(t.Context(), once), driver.ErrNotHeld)
}
