package etcdlock

import (
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

// SessionKey returns the key through which a process watches its session.
func (b *Backend) SessionKey(lease clientv3.LeaseID) string { return b.sessionKey(lease) }
