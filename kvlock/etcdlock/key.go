package etcdlock

import (
	"strings"

	"github.com/rowlock/rowlock/driver"
)

// Keys are PREFIX/NAMESPACE/NAME/NONCE. A slash inside a part is escaped, so that no name is the
// beginning of another, and the nonce makes a key one acquisition's own: a request that is sent again
// finds what it left, and a late call cannot meet another's key.

var (
	escaper   = strings.NewReplacer("%", "%25", "/", "%2F")
	unescaper = strings.NewReplacer("%25", "%", "%2F", "/")
)

// under is what the keys of one namespace begin with.
func (b *Backend) under(namespace string) string {
	return b.prefix + "/" + escaper.Replace(namespace) + "/"
}

// queue is what the keys of one lock begin with: its holder's, which is the oldest, and its waiters'.
func (b *Backend) queue(key driver.Key) string {
	return b.under(key.Namespace) + escaper.Replace(key.Name) + "/"
}

// entry is the key of one acquisition.
func (b *Backend) entry(key driver.Key, nonce driver.Nonce) string {
	return b.queue(key) + nonce.String()
}

// parse reads what entry writes.
func (b *Backend) parse(entry string) (key driver.Key, nonce driver.Nonce, ok bool) {
	rest, ok := strings.CutPrefix(entry, b.prefix+"/")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 {
		return key, nonce, false
	}
	nonce, err := driver.ParseNonce(parts[2])
	return driver.Key{Namespace: unescaper.Replace(parts[0]), Name: unescaper.Replace(parts[1])}, nonce, err == nil
}
