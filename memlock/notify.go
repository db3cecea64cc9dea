package memlock

import (
	"context"

	"github.com/rowlock/rowlock/driver"
)

type watcher struct{ wake func() }

// Notify implements [driver.Notifier]. A release notifies the waiters. An expiry notifies nobody, as in most stores.
func (b *Backend) Notify(_ context.Context, key driver.Key, wake func()) (stop func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := &watcher{wake}
	if b.watchers[key] == nil {
		b.watchers[key] = make(map[*watcher]struct{})
	}
	b.watchers[key][w] = struct{}{}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.watchers[key], w)
		if len(b.watchers[key]) == 0 {
			delete(b.watchers, key)
		}
	}, nil
}

// wake calls the function of each waiter for key. These functions must not block, because the caller holds mu.
func (b *Backend) wake(key driver.Key) {
	for w := range b.watchers[key] {
		w.wake()
	}
}
