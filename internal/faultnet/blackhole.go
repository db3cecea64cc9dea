package faultnet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rowlock/rowlock"
)

// trialsVariable names the environment variable that sets the number of trials.
const trialsVariable = "ROWLOCK_TEST_BLACKHOLES" // such as 50

// BlackHoles cuts holders off from their store, at different times after their grants. For each holder, the locker in
// the parameter watching waits for the same name. The test fails unless the holder's context ends before the store
// grants the name to that locker. BlackHoles logs the shortest and the longest time between these two events.
func BlackHoles(t *testing.T, watching *rowlock.Locker, hold func(name string) (lease *rowlock.Lease, cut func() error, err error)) {
	t.Helper()
	var mu sync.Mutex
	var margins []time.Duration
	var group errgroup.Group
	group.SetLimit(10)
	for i := range trials(t) {
		group.Go(func() error {
			margin, err := blackHole(t, watching, hold, fmt.Sprint("trial", i), time.Duration(i%50)*10*time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			margins = append(margins, margin)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	least, most := margins[0], margins[0]
	for _, m := range margins {
		least, most = min(least, m), max(most, m)
	}
	t.Logf("%d trials: the holder's context ended %s to %s before the next grant", len(margins), least.Round(time.Millisecond), most.Round(time.Millisecond))
	if least <= 0 {
		t.Errorf("watching was granted the name %s before the holder's context ended", -least)
	}
}

func trials(t *testing.T) int {
	t.Helper()
	text := os.Getenv(trialsVariable)
	if text == "" {
		return 6
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s: want a number of trials", trialsVariable, text)
	}
	return n
}

// Earlier returns the earlier of two times. A test calls it with the time at which it noticed that a lease's context has
// ended, and with the lease's deadline. On a loaded machine, the test may notice the end some time later.
func Earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// blackHole runs one trial. It returns how long the holder's context ended before the next grant.
func blackHole(t *testing.T, watching *rowlock.Locker, hold func(string) (*rowlock.Lease, func() error, error), name string, after time.Duration) (time.Duration, error) {
	lease, cut, err := hold(name)
	if err != nil {
		return 0, err
	}
	ended := make(chan time.Time, 1)
	context.AfterFunc(lease.Context(), func() { ended <- time.Now() })
	time.Sleep(after) // The network is cut after this delay, which is a random part of the time between two renewals.
	if err := cut(); err != nil {
		return 0, err
	}
	next, err := watching.Acquire(t.Context(), name)
	granted := time.Now()
	if err != nil {
		return 0, err
	}
	if err := lease.Err(); !errors.Is(err, rowlock.ErrLost) {
		t.Errorf("%s: the first lease is still trusted after the second grant: %v", name, err)
	}
	if next.Token() <= lease.Token() {
		t.Errorf("%s: token %s after %s", name, next.Token(), lease.Token())
	}
	return granted.Sub(Earlier(<-ended, lease.ExpiresAt())), nil
}
