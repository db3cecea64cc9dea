package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// Acquire and release commit once each; a refusal commits nothing, and neither does waiting; the renewal
// of a hundred locks is one commit. All live on one session.
func TestCommitsOfEachOperation(t *testing.T) {
	t.Parallel()
	const times = 100
	s := alone(t, "-Dznode.container.checkIntervalMs=600000") // the servers clear nothing away meanwhile
	b := open(t, []string{s.DSN})
	_, err := b.Acquire(t.Context(), request("held"))
	require.NoError(t, err)
	var grants []driver.Grant
	measure := func(what string, want float64, once func(i int) error) {
		before := commits(t, s.DSN)
		for i := range times {
			require.NoError(t, once(i), what)
		}
		got := float64(commits(t, s.DSN)-before) / times
		t.Logf("%s: %.2f commits", what, got)
		assert.InDelta(t, want, got, 0.001, what)
	}
	acquire := func(i int) error {
		g, err := b.Acquire(t.Context(), request(fmt.Sprint(i)))
		grants = append(grants, g)
		return err
	}
	measure("first acquire of a name", 2, acquire)
	measure("renewal of a hundred", 1, func(int) error {
		outcomes, err := b.Renew(t.Context(), grants)
		for _, o := range outcomes {
			assert.Equal(t, driver.Renewed, o)
		}
		return err
	})
	release := func(i int) error { return b.Release(t.Context(), grants[i]) }
	measure("release", 1, release)
	grants = nil
	measure("acquire", 1, acquire)
	refused := func(waiting bool) func(int) error {
		return func(int) error {
			r := request("held")
			r.Waiting = waiting
			_, err := b.Acquire(t.Context(), r)
			var held *driver.Held
			if !errors.As(err, &held) {
				return fmt.Errorf("want driver.Held, got %w", err)
			}
			return nil
		}
	}
	measure("refusal", 0, refused(false))
	measure("refusal of who waits", 0, refused(true))
	measure("place in the queue, and leaving it", 2, func(int) error {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Millisecond)
		defer cancel()
		_, err := b.AcquireQueued(ctx, request("held"))
		if !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("want the context's error, got %w", err)
		}
		return nil
	})
	measure("another's release", 1, release)
}

// More grants than fit into one request are renewed in several, and each is told what became of it.
func TestManyLongNamesAreRenewed(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	grants := make([]driver.Grant, 100)
	want := make([]driver.Outcome, len(grants))
	for i := range grants {
		name := fmt.Sprintf("%s%03d", strings.Repeat("/", driver.MaxName-3), i)
		g, err := n.watching.Acquire(t.Context(), request(name))
		require.NoError(t, err)
		grants[i], want[i] = g, driver.Renewed
	}
	for _, i := range []int{0, 50, 99} {
		path, _, err := n.head(grants[i].Key)
		require.NoError(t, err)
		require.NoError(t, n.direct.Delete(path, -1))
		want[i] = driver.Lost
	}
	outcomes, err := n.watching.Renew(t.Context(), grants)
	require.NoError(t, err)
	require.Equal(t, want, outcomes)
	require.ErrorIs(t, n.watching.Release(t.Context(), grants[50]), driver.ErrNotHeld)
}
