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

	keeps  bool // true if the store keeps requests that were withdrawn
	denies bool // true if the store does not report that it has recorded a request

	mu   sync.Mutex
	left map[driver.Key][]driver.Request
}

func newLeaves(keeps, denies bool) func(*memlock.Backend) inprocess.Memory {
	return func(b *memlock.Backend) inprocess.Memory {
		return &leaves{Backend: b, keeps: keeps, denies: denies, left: map[driver.Key][]driver.Request{}}
	}
}

func (l *leaves) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, _ := l.Inspect(ctx, r.Key)
	g, err := l.Backend.Acquire(ctx, r)
	var held *driver.Held
	if errors.As(err, &held) && r.Waits {
		l.forget(r.Key, r.Nonce)
		l.left[r.Key] = append(l.left[r.Key], r)
		told := *held
		told.Pending = !l.denies
		return g, &told
	}
	g.Earlier = err == nil && r.Waits && before.Token == g.Token
	return g, err
}

func (l *leaves) Release(ctx context.Context, g driver.Grant) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.Backend.Release(ctx, g)
	switch left := l.left[g.Key]; {
	case g.Token == 0 && !l.keeps:
		l.forget(g.Key, g.Nonce)
	case g.Token != 0 && err == nil && len(left) > 0:
		l.left[g.Key] = left[1:]
		_, err = l.Backend.Acquire(ctx, left[0])
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
