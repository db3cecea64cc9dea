// Package etcdlock keeps locks in etcd 3.6.5 or newer. It is a backend for package rowlock:
//
//	locker, err := rowlock.New(etcdlock.New(client))
//
// # How it works
//
// A lock is the keys below PREFIX/NAMESPACE/NAME/, one for each acquisition. The oldest is the holder's,
// the others are a queue. A slash in a name is escaped, so that no name is the beginning of another. A key
// is used again by its session once it is gone, so that etcd's index of a name stays small.
//
// TryAcquire is one transaction, which puts a key if nothing is in the way. It never passes those who
// wait. Acquire is one as well, which puts a key behind the others, if there are any, and then watches the
// one in front of it: when a holder goes, one waiter wakes, and locks are granted in the order of the
// requests, across processes. Each looks four times in a TTL besides, in case its watch is on a node that
// hangs. After every wait one transaction that only reads proves that the waiter's own key is still there. A
// release deletes the holder's key, if the revision that created it is the token. Acquire and release are
// one commit each; renewals commit nothing.
//
// [Backend.Shared] is for readers beside a writer, in the same queue: a reader waits for the last writer
// in front of it, a writer for whoever is in front. Readers that stand together are granted the lock
// together. A reader that comes later does not pass a writer who waits.
//
// All locks of one Backend with one TTL live on one lease of etcd, called session here, so that ten
// thousand locks are kept alive by one message. Its TTL is an eighth longer than the lock's, in whole
// seconds. When it is lost, all of them are lost at once, and the next lock gets a new session. A session
// that nobody uses ends by itself.
//
// A session on which a lock is held has a key of its own, PREFIX/%/LEASE, which its process watches. Etcd
// deletes all keys of a lease in one transaction, so this one watch reports the end of the session for all
// of its locks, as soon as etcd does. A forced release writes the lock's key there, and so reaches the
// holder as fast. The watch ends with the session, or when the locker is closed.
//
// # What is promised
//
// Exclusion and tokens are linearizable through the loss of a minority of nodes, of the leader, and
// through restarts. A new leader gives each session its full TTL again, so grants end late.
// A crash frees the name within nine eighths of the TTL, a second for rounding, half a second for etcd
// to notice, and as much again for each change of leader. A waiter that crashes keeps its place in the
// queue for as long: a lock that is released meanwhile stays closed to those behind it.
//
// One fault of etcd ends grants early. A leader that is suspended for longer than a session lives, and goes
// on, revokes sessions that its successor has renewed (seen in 3.7.3). The next waiter is then granted the
// lock at once. The holder learns it from its watch, with the next waiter or a few milliseconds later, or
// with its next renewal if the node that serves the watch does not answer. For that moment both trust their leases.
// Tokens still rise: use [Backend.Guard] or a fence where the moment matters.
//
// Trust in a lease is counted from before the last renewal was sent that etcd answered, as everywhere in
// rowlock, and never from a reply: a holder that is cut off, alone or with its node, stops in time.
//
// The token is the revision that created the key. A restored snapshot sets it back, unless it was
// restored with --bump-revision (etcdutl 3.6); without that, reset the fences of resources outside.
//
// Releases before 3.6.5 may answer the renewal of a lease that has just been revoked with success
// (https://github.com/etcd-io/etcd/pull/20590). Do not use those. What a suspended leader does was reported for 3.5, too
// (https://github.com/etcd-io/etcd/issues/15247).
//
// # What is not
//
// MinHold and HandoverDelay are refused: etcd cannot keep a lock closed after its key is gone. Etcd
// keeps nothing of a lock that nobody holds, so an inspector shows it as never granted.
//
// # Requests whose replies are missing
//
// No two acquisitions have a key at the same time, so a request that is sent again finds what it left, and
// one that was given up is deleted. A session on which a reply is missing takes no more locks and uses no
// key again; whenever it is kept alive, keys that nobody knows of are deleted: one that arrives late
// blocks nobody. It ends when its last lock is released.
//
// # Data in etcd
//
// [Backend.Guard] is a comparison for the If of the caller's own transaction. It is exact, and needs no
// fence besides. Do not fence with the tokens of readers: a later one would refuse those before it.
//
// # Rights
//
// With authentication, the user needs a role that may read and write what begins with the prefix and a
// slash, and nothing else:
//
//	etcdctl role grant-permission locks --prefix=true readwrite rowlock/
//
// User, password and TLS, with a certificate of the client's own, are settings of the client. With a password each wait authenticates again, as
// etcd's client does for every watch; renewals do not. DialKeepAliveTime of the client should be set: a
// connection that has gone silent is then replaced, at best within ten seconds and DialKeepAliveTimeout.
// Until then calls on it end with their own limits.
package etcdlock
