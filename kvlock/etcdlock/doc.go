// Package etcdlock keeps locks in etcd 3.6.5 or newer. It is a backend for package rowlock:
//
//	locker, err := rowlock.New(etcdlock.New(client))
//
// # How it works
//
// The keys below PREFIX/NAMESPACE/NAME/ are one lock, with one key for each acquisition. The oldest key is the
// holder's, and the others are the queue. A slash in a name is escaped, so that no name is a prefix of another. A
// session reuses the key of an acquisition that has ended, so that etcd's index of a name stays small.
//
// TryAcquire is one transaction. It puts a key if the lock is free, and never overtakes waiters.
//
// Acquire is also one transaction. It puts a key at the end of the queue. If there are others, it watches the key
// before its own. So a release wakes one waiter, and locks are granted in the order of the requests, across processes.
// Each waiter also reads the queue four times per TTL, in case its watch is on a node that hangs. After every wait, a
// read-only transaction proves that the waiter's own key still exists.
//
// A release deletes the holder's key if its create revision is the token. Acquire and release are one commit each.
// Renewals commit nothing.
//
// [Backend.Shared] makes locks for readers beside a writer, in the same queue. A reader waits for the last writer
// before it, and a writer for every key before it. Adjacent readers are granted the lock together. A later reader does
// not overtake a waiting writer.
//
// All locks of one Backend with the same TTL use one etcd lease, called a session here, so one message renews ten
// thousand locks. The session's TTL is an eighth longer than the lock's, rounded up to seconds. If the session is lost,
// all its locks are lost at once, and the next lock gets a new session. An unused session expires.
//
// A session that holds a lock has a key of its own, PREFIX/%/LEASE, which its process watches. etcd deletes all keys of
// a lease in one transaction. So this one watch reports the end of the session for all its locks, as soon as etcd ends
// it. A forced release writes the lock's key there, so the holder is notified just as fast. The watch ends with the
// session, or when the locker is closed.
//
// # Guarantees
//
// Exclusion and tokens are linearizable. They survive the loss of a minority of nodes, the loss of the leader, and
// restarts. A new leader restarts the full TTL of each session, so grants may expire late.
//
// After a crash, the lock becomes free within nine eighths of the TTL, plus one second for rounding and half a second
// for etcd to notice. Each change of leader adds the same time again. A waiter that crashes keeps its place in the
// queue for as long. A lock that is released meanwhile stays blocked for the waiters behind it.
//
// One fault of etcd ends grants early. A leader that is suspended for longer than a session's TTL and then continues
// revokes sessions that its successor has renewed (seen in 3.7.3). The next waiter is then granted the lock at once.
// The old holder's watch notifies it within milliseconds of that grant. If the node of the watch does not answer, the
// next renewal reports the loss. Until then both trust their leases. Tokens still rise: use [Backend.Guard] or a fence
// if this matters.
//
// As everywhere in rowlock, a lease is trusted from before the sending of the last renewal that etcd answered, never
// from a reply. So a holder that is cut off, alone or with its node, stops in time.
//
// The token is the create revision of the key. A restored snapshot sets revisions back unless it was restored with
// --bump-revision (etcdutl 3.6). Without that option, reset the fences of resources outside etcd.
//
// Releases before 3.6.5 may report success for the renewal of a lease that has just been revoked
// (https://github.com/etcd-io/etcd/pull/20590). Do not use them. The fault of a suspended leader was also reported for
// 3.5 (https://github.com/etcd-io/etcd/issues/15247).
//
// # Limits
//
// MinHold and HandoverDelay are refused, because etcd cannot block a lock after its key is deleted. etcd stores nothing
// about a free lock, so an inspector shows it as never granted.
//
// # Lost replies
//
// Two acquisitions never have the same key at the same time. So a repeated request finds the key of the first, and the
// key of an abandoned request can be deleted.
//
// A session with a missing reply takes no new locks and reuses no key. Each of its renewals deletes keys that belong to
// no known acquisition, so a request that arrives late blocks nobody. The session ends after its last release.
//
// # Data in etcd
//
// [Backend.Guard] returns a comparison for the If of your own transaction. It is exact, and data in etcd need no other
// fence. Do not fence with the tokens of readers: a later reader would make the fence reject the earlier ones.
//
// # Permissions
//
// With authentication, the user needs only a role that may read and write the keys that begin with the prefix and a
// slash:
//
//	etcdctl role grant-permission locks --prefix=true readwrite rowlock/
//
// User, password and TLS, including a client certificate, are settings of the client. With a password, each wait
// authenticates again, because etcd's client does so for every watch. Renewals do not. Set the client's
// DialKeepAliveTime, so that a connection that falls silent is replaced, after at least ten seconds plus
// DialKeepAliveTimeout. Until then, calls on it end with their own limits.
package etcdlock
