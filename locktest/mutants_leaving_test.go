package locktest

import (
	"context"
	"errors"
	"sync"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/inprocess"
	"github.com/rowlock/rowlock/memlock"
)

// leaves is a store that records the requests of waiters. When the holder releases the name, the store grants the first recorded
// request.
type leaves struct {
	*memlock.Backend

	flaws leavingFlaws

	mu   sync.Mutex
	left map[driver.Key][]driver.Request
}

// leavingFlaws are the defects of a store that records requests.
type leavingFlaws struct {
	keeps    bool // the store keeps requests that were withdrawn
	denies   bool // the store does not report that it has recorded a request
	misnames bool // the store grants a recorded request with another nonce
}

func newLeaves(flaws leavingFlaws) func(*memlock.Backend) inprocess.Memory {
	return func(b *memlock.Backend) inprocess.Memory {
		return &leaves{Backend: b, flaws: flaws, left: map[driver.Key][]driver.Request{}}
	}
}

func (l *leaves) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g, err := l.Backend.Acquire(ctx, r)
	var held *driver.Held
	if errors.As(err, &held) && r.Waits {
		l.forget(r.Key, r.Nonce)
		l.left[r.Key] = append(l.left[r.Key], r)
		told := *held
		told.Pending = !l.flaws.denies
		return g, &told
	}
	return g, err
}

func (l *leaves) Release(ctx context.Context, g driver.Grant) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.Backend.Release(ctx, g)
	switch left := l.left[g.Key]; {
	case g.Token == 0 && !l.flaws.keeps:
		l.forget(g.Key, g.Nonce)
	case g.Token != 0 && err == nil && len(left) > 0:
		l.left[g.Key] = left[1:]
		r := left[0]
		if l.flaws.misnames {
			r.Nonce = driver.NewNonce()
		}
		_, err = l.Backend.Acquire(ctx, r)
	}
	return err
}

func (l *leaves) forget(key driver.Key, nonce driver.Nonce) {
	kept := l.left[key][:0:0]
	for _, r := range l.left[key] {
		if r.Nonce != nonce {
			kept = append(kept, r)
		}
	}
	l.left[key] = kept
}
