package etcdlock

import "github.com/rowlock/rowlock/driver"

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
