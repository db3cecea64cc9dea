package etcdlock

import (
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// Queue is what the keys of one lock begin with.
func (b *Backend) Queue(key driver.Key) string { return b.queue(key) }

// EntryOf is the key of an acquisition; empty if b knows none.
func (b *Backend) EntryOf(nonce driver.Nonce) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.holds[nonce]; h != nil {
		return h.entry
	}
	return ""
}

// Known is how many acquisitions and keys b keeps something of.
func (b *Backend) Known() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := len(b.holds) + len(b.busy)
	for _, p := range b.places {
		known += len(p.session.used)
	}
	return known
}

// Age is how long ago the session of an acquisition was proven.
func (b *Backend) Age(nonce driver.Nonce) time.Duration {
	b.mu.Lock()
	s := b.holds[nonce].session
	b.mu.Unlock()
	return b.age(s)
}

// SessionKey is the key that is watched for a session.
func (b *Backend) SessionKey(lease clientv3.LeaseID) string { return b.sessionKey(lease) }
