package etcdlock

import "github.com/rowlock/rowlock/driver"

// Queue is what the keys of one lock begin with.
func (b *Backend) Queue(key driver.Key) string { return b.queue(key) }

// Entry is the key of one acquisition.
func (b *Backend) Entry(key driver.Key, nonce driver.Nonce) string { return b.entry(key, nonce) }
