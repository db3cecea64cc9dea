package etcdlock

import (
	"strings"

	"github.com/rowlock/rowlock/driver"
)

// Keys are PREFIX/NAMESPACE/NAME/x-NONCE, or s-NONCE of who shares. A slash inside a part is escaped, so
// that no name is the beginning of another, and the nonce makes a key one acquisition's own: a request
// that is sent again finds what it left, and a late call cannot meet another's key.

const (
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
	return s.under(key.Namespace) + escaper.Replace(key.Name) + "/"
}

// barrier is what the keys begin with that keep a later one from being granted: all, or for who shares
// those of who does not.
func (b *Backend) barrier(key driver.Key) string {
	if b.shared {
		return b.queue(key) + exclusiveMark
	}
	return b.queue(key)
}

// entry is the key of one acquisition.
func (b *Backend) entry(key driver.Key, nonce driver.Nonce) string {
	mark := exclusiveMark
	if b.shared {
		mark = sharedMark
	}
	return b.queue(key) + mark + nonce.String()
}

// parse reads what entry writes.
func (s *store) parse(entry string) (key driver.Key, nonce driver.Nonce, ok bool) {
	rest, ok := strings.CutPrefix(entry, s.prefix+"/")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 {
		return key, nonce, false
	}
	marked, isExclusive := strings.CutPrefix(parts[2], exclusiveMark)
	if !isExclusive {
		if marked, ok = strings.CutPrefix(parts[2], sharedMark); !ok {
			return key, nonce, false
		}
	}
	nonce, err := driver.ParseNonce(marked)
	return driver.Key{Namespace: unescaper.Replace(parts[0]), Name: unescaper.Replace(parts[1])}, nonce, err == nil
}
