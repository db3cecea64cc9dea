package zklock

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// Container is the node of a lock.
func (b *Backend) Container(key driver.Key) string { return b.container(key) }

// Escape and Unescape are how a part of a path is written and read.
var (
	Escape   = escape
	Unescape = unescape
)

// Sequences is the order in which children of a lock's node stand in its queue.
func Sequences(children []string) (order []string) {
	for _, p := range queue(children) {
		order = append(order, p.node)
	}
	return order
}

// ClientWatches is how many watches the clients of b keep. It is for when nothing happens.
func (b *Backend) ClientWatches() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.places {
		for all := reflect.ValueOf(s.conn).Elem().FieldByName("watchers").MapRange(); all.Next(); {
			n += all.Value().Len()
		}
	}
	return n
}

// Connected says whether the clients of b have been greeted by a server, and have heard of no end of that connection.
func (b *Backend) Connected() bool {
	b.mu.Lock()
	all := slices.Collect(maps.Values(b.places))
	b.mu.Unlock()
	return !slices.ContainsFunc(all, func(s *session) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return !s.connected
	})
}

// Abandon ends the sessions of b as it does itself when nothing proves that they live. The servers hear of
// it if the network lets them.
func (b *Backend) Abandon() {
	b.mu.Lock()
	all := slices.Collect(maps.Values(b.places))
	b.mu.Unlock()
	for _, s := range all {
		s.finish(errUnproven)
	}
}

// Stands says whether it is known that the request of this nonce has a node.
func (b *Backend) Stands(nonce driver.Nonce) bool {
	b.mu.Lock()
	e := b.entries[nonce]
	b.mu.Unlock()
	return e != nil && e.stands()
}

// SetLinger sets for how long sessions that nobody uses are kept from now on.
func (b *Backend) SetLinger(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.linger = d
}
