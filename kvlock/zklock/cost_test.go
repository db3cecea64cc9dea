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

// Acquire and release commit once each. A refused attempt and a running wait commit nothing. The renewal of a hundred
// locks is one commit. All locks use one session.
func TestCommitsOfEachOperation(t *testing.T) {
	const times = 100
	s := patient.alone(t)
	b := open(t, []string{s.DSN}, root())
	_, err := b.Acquire(t.Context(), request("held"))
	require.NoError(t, err)
	var grants []driver.Grant
	measureSome := func(times int, what string, want float64, once func(i int) error) {
		before := commits(t, s.DSN)
		for i := range times {
			require.NoError(t, once(i), what)
		}
		got := float64(commits(t, s.DSN)-before) / float64(times)
		t.Logf("%s: %.2f commits", what, got)
		assert.InDelta(t, want, got, 0.05, what) // on a slow machine, a few requests may be repeated
	}
	measure := func(what string, want float64, once func(i int) error) { measureSome(times, what, want, once) }
	acquire := func(i int) error {
		g, err := b.Acquire(t.Context(), request(fmt.Sprint(i)))
		grants = append(grants, g)
		return err
	}
	measure("first acquire of a name", 2, acquire)
	measureSome(times/5, "renewal of a hundred", 1, func(int) error {
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
	measure("release by another backend", 1, release)
	grants = nil
	measure("acquire with waiting", 1, func(i int) error {
		g, err := enter(t.Context(), b, request(fmt.Sprint(i)))
		grants = append(grants, g)
		return err
	})
	over, cancel := context.WithCancel(t.Context())
	cancel()
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
	measure("refusal of a waiter", 0, refused(true))
	measure("entry in the queue, and its deletion", 2, func(int) error {
		_, err := b.Await(t.Context(), request("held"), func(held *driver.Held) context.Context {
			assert.Equal(t, "test", held.Holder)
			return over
		})
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("want the context's error, got %w", err)
		}
		return nil
	})
	measure("release of all", 1, release)
	measure("first acquire of a name with waiting", 2, func(i int) error {
		_, err := enter(t.Context(), b, request(fmt.Sprint("new", i)))
		return err
	})
}

// When the holder releases, the first waiter reads the queue once. The other waiters send nothing.
func TestRequestsOfAHandOver(t *testing.T) {
	s := clearing.alone(t)
	n := newNetworkWith(t, connect(t, 6*time.Minute, s.DSN), s.DSN) // its first ping comes after two minutes
	key := driver.Key{Name: "a"}
	held := request("a")
	held.TTL = time.Minute
	g, err := n.watching.Acquire(t.Context(), held)
	require.NoError(t, err)
	const many = 3
	granted, told := make(chan error, many), make(chan *driver.Held, 2*many)
	for i := range many {
		r := request("a")
		r.TTL = time.Minute // no waiter checks its node during the test
		b := open(t, n.servers, n.root)
		go func() {
			_, err := b.Await(t.Context(), r, func(held *driver.Held) context.Context {
				told <- held
				return t.Context()
			})
			granted <- err
		}()
		require.Eventually(t, func() bool { return entries(t, n, key) == 1+1+i }, 30*time.Second, time.Millisecond)
	}
	unknown := 0
	for known := 0; known < many; {
		if held := <-told; held != nil {
			known++
		} else {
			unknown++
		}
	}
	assert.Equal(t, many-1, unknown, "waiters behind others do not read the holder when they join the queue")
	watched(t, n, key, many)
	before := received(t, n)
	counting := received(t, n) - before // reading the counters also sends packets, which must be subtracted
	require.NoError(t, n.watching.Release(t.Context(), g))
	require.NoError(t, <-granted)
	assert.EqualValues(t, 1+1, received(t, n)-before-2*counting, "the release, and the first waiter's read of the queue")
	watched(t, n, key, many-1)
}

// If grants do not fit into one request, Renew sends several requests, and each grant gets its own outcome.
func TestManyLongNamesAreRenewed(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	grants := make([]driver.Grant, 200)
	want := make([]driver.Outcome, len(grants))
	for i := range grants {
		name := fmt.Sprintf("%s%03d", strings.Repeat("/", driver.MaxName-3), i)
		g, err := n.watching.Acquire(t.Context(), request(name))
		require.NoError(t, err)
		grants[i], want[i] = g, driver.Renewed
	}
	for _, i := range []int{0, 50, 199} {
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
