package etcdlock

import (
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// Keys are PREFIX/NAMESPACE/NAME/%-x-LEASE-NUMBER, or %-s-… of who shares. A slash inside a part is escaped, so
// that no name is the beginning of another; and no part begins with the mark before x and s, so that no lock's queue
// has in it what is kept below a prefix that is longer, and begins like its keys. Lease and number make a key one acquisition's own for as long
// as it lasts, and are used again then: until it is compacted, etcd's index keeps every key that there
// ever was, and the search for the oldest in a queue passes by all of them. A nonce instead of the number
// would make each acquisition slower than the one before.

const (
	mark          = "%-"
	exclusiveMark = "x-"
	sharedMark    = "s-"
)

var (
	escaper   = strings.NewReplacer("%", "%25", "/", "%2F")
	unescaper = strings.NewReplacer("%25", "%", "%2F", "/")
)

// under is what the keys of one namespace begin with.
func (s *store) under(namespace string) string {
	return s.prefix + "/" + escaper.Replace(namespace) + "/"
}

// queue is what the keys of one lock begin with: its holders', which are the oldest, and its waiters'.
func (s *store) queue(key driver.Key) string {
	return s.under(key.Namespace) + escaper.Replace(key.Name) + "/" + mark
}

// barrier is what the keys begin with that keep a later one from being granted: all, or for who shares
// those of who does not.
func (b *Backend) barrier(key driver.Key) string {
	if b.shared {
		return b.queue(key) + exclusiveMark
	}
	return b.queue(key)
}

// entry is a key on a session.
func (b *Backend) entry(key driver.Key, s *session, number int) string {
	kind := exclusiveMark
	if b.shared {
		kind = sharedMark
	}
	return fmt.Sprintf("%s%s%016x-%d", b.queue(key), kind, int64(s.id), number)
}

// sessionKey is the key that a session is watched by. No part of a name is a percent sign alone, and its last part does not begin
// with the mark, so it stands in no queue, of this prefix or another.
func (s *store) sessionKey(lease clientv3.LeaseID) string {
	return fmt.Sprintf("%s/%%/%016x", s.prefix, int64(lease))
}

// parse says whose queue an entry stands in.
func (s *store) parse(entry string) (key driver.Key, ok bool) {
	rest, ok := strings.CutPrefix(entry, s.prefix+"/")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 || !strings.HasPrefix(parts[2], mark) {
		return key, false
	}
	return driver.Key{Namespace: unescaper.Replace(parts[0]), Name: unescaper.Replace(parts[1])}, true
}
