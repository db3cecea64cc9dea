package zklock

import (
	"maps"
	"reflect"
	"slices"

	"github.com/rowlock/rowlock/driver"
)

// Container returns the node of a lock.
func (b *Backend) Container(key driver.Key) string { return b.container(key) }

// Escape and Unescape encode and decode one part of a path.
var (
	Escape   = escape
	Unescape = unescape
)

// Sequences returns the children of a lock's node in the order of its queue.
func Sequences(children []string) (order []string) {
	for _, p := range queue(children) {
		order = append(order, p.node)
	}
	return order
}

// ClientWatches returns how many watches the clients of b keep. Call it only while no other goroutine uses b, because
// it takes no lock of the client.
func (b *Backend) ClientWatches() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sessions {
		for all := reflect.ValueOf(s.conn).Elem().FieldByName("watchers").MapRange(); all.Next(); {
			n += all.Value().Len()
		}
	}
	return n
}

// Connected reports whether all clients of b are connected to a server, as far as they know.
func (b *Backend) Connected() bool {
	b.mu.Lock()
	all := slices.Collect(maps.Values(b.sessions))
	b.mu.Unlock()
	return !slices.ContainsFunc(all, func(s *session) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return !s.connected
	})
}

// Abandon ends the sessions of b, as if no request had proven them in time. If the network works, the servers end these
// sessions too.
func (b *Backend) Abandon() {
	b.mu.Lock()
	all := slices.Collect(maps.Values(b.sessions))
	b.mu.Unlock()
	for _, s := range all {
		s.finish(errUnproven)
	}
}

// Stands reports whether b knows that the request of this nonce has a node.
func (b *Backend) Stands(nonce driver.Nonce) bool {
	b.mu.Lock()
	e := b.entries[nonce]
	b.mu.Unlock()
	return e != nil && e.stands()
}
