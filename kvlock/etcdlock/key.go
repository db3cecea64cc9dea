package etcdlock

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// An entry is a key of the queue of one lock: the key of one acquisition. An exclusive acquisition has the key
// PREFIX/NAMESPACE/NAME/%-x-LEASE-NUMBER, and a shared one PREFIX/NAMESPACE/NAME/%-s-LEASE-NUMBER. LEASE is the id of
// the session's etcd lease, and NUMBER counts the keys of that session for this lock. A slash inside a namespace or
// name is escaped, so that no name is a prefix of another. An escaped namespace or name never begins with the mark
// "%-". So if another backend's prefix begins like the keys of a lock, the other backend's keys are not in that lock's
// queue. The tick of a lock has the key PREFIX/NAMESPACE/NAME/%done, and its epoch has the key
// PREFIX/NAMESPACE/NAME/%epoch. Both are not in the queue.
//
// While an acquisition lasts, the parts LEASE and NUMBER make its key unique. A later acquisition reuses the key.
// Without reuse, each acquisition would be slower than the one before: etcd's index keeps every key until compaction,
// and the search for the oldest key of a queue reads all of them. That is why the key does not contain the nonce,
// which is new for each acquisition.

const (
	mark          = "%-"
	exclusiveMark = "x-"
	sharedMark    = "s-"
)

var (
	escaper   = strings.NewReplacer("%", "%25", "/", "%2F")
	unescaper = strings.NewReplacer("%25", "%", "%2F", "/")
)

// under returns the prefix of the keys of one namespace.
func (b *Backend) under(namespace string) string {
	return b.prefix + "/" + escaper.Replace(namespace) + "/"
}

// lock returns the prefix of all keys of one lock.
func (b *Backend) lock(key driver.Key) string {
	return b.under(key.Namespace) + escaper.Replace(key.Name) + "/"
}

// queue returns the prefix of the queue of one lock.
func (b *Backend) queue(key driver.Key) string { return b.lock(key) + mark }

// shares returns the prefix of the keys of all shared requests for a lock.
func (b *Backend) shares(key driver.Key) string { return b.queue(key) + sharedMark }

func (b *Backend) tickKey(key driver.Key) string  { return b.lock(key) + tickMark }
func (b *Backend) epochKey(key driver.Key) string { return b.lock(key) + epochMark }

// barrier returns the prefix of the keys that block a later request. All keys of the queue block an exclusive request.
// Only exclusive keys block a shared request.
func (b *Backend) barrier(r driver.Request) string {
	if r.Shared {
		return b.queue(r.Key) + exclusiveMark
	}
	return b.queue(r.Key)
}

// path returns the key for request r on session s, with the given NUMBER.
func (b *Backend) path(r driver.Request, s *session, number int) string {
	kind := exclusiveMark
	if r.Shared {
		kind = sharedMark
	}
	return b.queue(r.Key) + kind + s.name + "-" + strconv.Itoa(number)
}

// isExclusive reports whether a key of a queue belongs to an exclusive request.
func isExclusive(kv *mvccpb.KeyValue) bool {
	return bytes.HasPrefix(kv.Key[bytes.LastIndexByte(kv.Key, '/')+1:], []byte(mark+exclusiveMark))
}

// absent returns the comparison that is true while key does not exist.
func absent(key string) clientv3.Cmp { return created(key, 0) }

// created returns the comparison that is true while key exists with this create revision.
func created(key string, revision int64) clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(key), "=", revision)
}

// sessionKey returns the key that is watched for a session. It is in no queue, also not in one of a backend with
// another prefix. No escaped namespace is a single percent sign, and the last part of this key does not begin with the
// mark "%-".
func (b *Backend) sessionKey(lease clientv3.LeaseID) string {
	return b.prefix + "/%/" + leaseName(lease)
}

// leaseName returns LEASE, the text of a lease's id.
func leaseName(lease clientv3.LeaseID) string { return fmt.Sprintf("%016x", int64(lease)) }

// parse returns the lock to which a key belongs, and the last part of the key: the mark of a tick or of an epoch, or a
// part that begins with "%-".
func (b *Backend) parse(path string) (key driver.Key, last string, ok bool) {
	rest, ok := strings.CutPrefix(path, b.prefix+"/")
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 || parts[2] != tickMark && parts[2] != epochMark && !strings.HasPrefix(parts[2], mark) {
		return key, "", false
	}
	return driver.Key{Namespace: unescaper.Replace(parts[0]), Name: unescaper.Replace(parts[1])}, parts[2], true
}
