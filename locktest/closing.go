package locktest

import (
	"errors"
	"fmt"

	"github.com/rowlock/rowlock"
)

var closeCases = []testCase{
	{
		name:    "close-releases",
		promise: "Close of a locker releases its leases at once, ends its waits, and does not close the backend.",
		run:     closeReleases,
	},
}

func closeReleases(t *trial) {
	a, b := t.open(), t.open()
	mine, theirs := t.key("mine").Name, t.key("theirs").Name
	l, other := t.locker(a), t.locker(b)
	t.acquire(other, theirs)
	leases := make([]*rowlock.Lease, 3)
	for i := range leases {
		leases[i] = t.acquire(l, mine+fmt.Sprint(i))
	}
	w := t.wait(t.ctx, l, theirs)
	if err := l.Close(); err != nil {
		t.fatalf("close: %v", err)
	}
	t.await(w.done, "a wait ends when its locker is closed")
	if w.lease != nil || !errors.Is(w.err, rowlock.ErrClosed) {
		t.fatalf("a wait in a closed locker: want rowlock.ErrClosed, got lease %v, error %v", w.lease, w.err)
	}
	for _, lease := range leases {
		if err := lease.Err(); !errors.Is(err, rowlock.ErrReleased) {
			t.fatalf("a lease of a closed locker: want rowlock.ErrReleased, got %v", err)
		}
		t.grant(b, t.request(t.key("mine"+lease.Name()[len(mine):])))
	}
	if _, err := l.TryAcquire(t.ctx, mine); !errors.Is(err, rowlock.ErrClosed) {
		t.fatalf("acquire from a closed locker: want rowlock.ErrClosed, got %v", err)
	}
	t.isFree(a, mine)
}
