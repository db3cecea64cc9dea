package etcdlock

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// Queue returns the prefix of the keys of one lock.
func (b *Backend) Queue(key driver.Key) string { return b.queue(key) }

// EntryOf returns the key of an acquisition, or an empty text if b knows none.
func (b *Backend) EntryOf(nonce driver.Nonce) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.entries[nonce]; e != nil {
		return e.path
	}
	return ""
}

// Known returns how many acquisitions and keys b has recorded.
func (b *Backend) Known() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := len(b.entries)
	for _, p := range b.openers {
		known += len(p.session.entries)
	}
	return known
}

// Age returns how long ago the last request that renewed the session of an acquisition was sent.
func (b *Backend) Age(nonce driver.Nonce) time.Duration {
	b.mu.Lock()
	s := b.entries[nonce].session
	b.mu.Unlock()
	return b.age(s)
}

// Backdate makes the session of an acquisition seem older than it is.
func (b *Backend) Backdate(nonce driver.Nonce, by time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.entries[nonce].session
	s.proven = s.proven.Add(-by)
}

// SetChecks sets how often each waiter of b renews its session and reads the queue in each TTL of the session.
func (b *Backend) SetChecks(n int) { b.times.checks = n }

// Sweep renews the sessions for which etcd may execute a request late. A renewal deletes the keys of such requests.
func (b *Backend) Sweep(ctx context.Context) {
	b.mu.Lock()
	doubted := make(map[*session]bool)
	for _, e := range b.entries {
		if e.session.doubted {
			doubted[e.session] = true
		}
	}
	b.mu.Unlock()
	for s := range doubted {
		_ = b.beat(ctx, s) // the next call retries
	}
}

// SessionKey returns the key through which a process watches its session.
func (b *Backend) SessionKey(lease clientv3.LeaseID) string { return b.sessionKey(lease) }
