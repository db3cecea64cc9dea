// Package etcdlock keeps locks in etcd 3.6.5 or newer. It is a backend for package rowlock:
//
//	locker, err := rowlock.New(etcdlock.New(client))
//
// # How it works
//
// The keys below PREFIX/NAMESPACE/NAME/ are one lock, with one key for each acquisition. The oldest key is the
// holder's, and the others are the queue. A slash in a name is escaped, so that no name is a prefix of another. When an
// acquisition has ended, its session reuses the key, so that etcd's index of a name stays small.
//
// TryAcquire is one transaction. It puts a key only if the lock is free, and never overtakes waiters.
//
// Acquire is also one transaction. It puts a key at the end of the queue. If other keys are before this key, Acquire
// watches the last of them. So a release wakes one waiter, and locks are granted in the order of the requests, across
// processes. Each waiter also reads the queue four times per TTL, in case its watch is on a node that hangs. After
// every wait, a read-only transaction proves that the waiter's own key still exists.
//
// A release deletes the holder's key if the key's create revision is the token of the lease. Acquire and release are
// one commit each. Renewals commit nothing.
//
// Readers (rowlock.Shared) and writers wait in the same queue. A reader waits until no writer is before it, and a
// writer waits until no key is before its own. Adjacent readers are granted the lock together. A later reader does not
// overtake a waiting writer. All readers between two writers have the same token. The first of these readers records
// the token in a separate key, PREFIX/NAMESPACE/NAME/%epoch. The next writer's grant deletes this key, and so does the
// release of the last reader. If a waiting writer gives up, the readers before it and behind it have the same token.
//
// All locks of one Backend with the same TTL use one etcd lease. This package calls that lease a session. One
// keep-alive message renews the session, even if ten thousand locks use it. The session's TTL is an eighth longer than
// the lock's, rounded up to whole seconds. If the session is lost, all its locks are lost at once, and the next lock
// gets a new session. An unused session expires.
//
// A release may record a tick (see rowlock.Once). The same transaction then writes the tick into a separate key,
// PREFIX/NAMESPACE/NAME/%done. This key has no etcd lease, so it remains when the session ends. The transaction that
// grants a lock also reads its tick. A name without ticks has no such key. Readers record no ticks.
//
// A session that holds a lock also has a key for itself, PREFIX/%/LEASE. The process that owns the session watches
// this key. etcd deletes all keys of a lease in one transaction. So one watch reports the end of the session for all
// its locks, as soon as etcd ends the session. A forced release writes the prefix of the lock's keys into the session's
// key. So the same watch notifies the holder's process of the forced release. If readers of more than a hundred sessions
// hold the lock, the others learn of the forced release with their next renewal. The watch ends with the session, or
// when the locker is closed.
//
// # Guarantees
//
// Exclusion and tokens are linearizable. They survive the loss of a minority of nodes, the loss of the leader, and
// restarts. A new leader restarts the full TTL of each session, so a grant may expire late.
//
// After a crash, the lock becomes free within nine eighths of the TTL, plus one and a half seconds. One second is for
// rounding, and half a second for etcd to notice. Each change of leader during that time adds the same time again. The
// key of a crashed waiter stays in the queue for the same time after its crash. During that time, a lock that is
// released is not granted to the waiters behind the crashed waiter.
//
// One fault of etcd ends grants early. The cluster's leader may be suspended for longer than a session's TTL. When it
// continues, it revokes sessions that the new leader has renewed (seen in 3.7.3). The next waiter is then granted the
// lock at once. The old holder's watch notifies it within milliseconds of that grant. If the node that serves the watch
// does not answer, the next renewal reports the loss. Until the old holder learns of the loss, it and the new holder
// both trust their leases. Tokens still rise. If two holders at once could do harm, use [Backend.Guard] or a fence.
//
// As everywhere in rowlock, a holder counts its TTL from the time at which it sent the last answered renewal, never
// from the arrival of the reply. So a holder that is cut off from the cluster, alone or with its node, stops before
// its lease expires.
//
// The token of a writer is the create revision of its key. The token of readers is the create revision of the key of
// one of them. Restoring a snapshot sets revisions back, unless you restore it with --bump-revision (etcdutl 3.6). If
// you restore without that option, new tokens are smaller than old ones, so reset the fences of resources outside
// etcd.
//
// Releases of etcd before 3.6.5 may report success for the renewal of a lease that has just been revoked
// (https://github.com/etcd-io/etcd/pull/20590). Do not use those releases. The fault that a continued leader revokes
// renewed sessions (see above) was also reported for 3.5 (https://github.com/etcd-io/etcd/issues/15247).
//
// # Limits
//
// The options MinHold and HandoverDelay are refused, because etcd cannot block a lock after its key is deleted. Apart
// from its tick, etcd stores nothing about a free lock, so an inspection reports a free lock as never granted. Prune
// deletes old ticks of free locks. It also deletes each key %epoch that remained because the last reader of a lock
// died. The age of a tick is the difference between the clocks of two processes, because etcd stores no times.
//
// # Lost replies
//
// Two acquisitions never have the same key at the same time. So a retry finds the key that the first attempt has put,
// and the key of an abandoned request can be deleted. If such a deletion got no reply, etcd may
// execute it late, so a retry puts another key.
//
// If a request on a session got no reply, the session takes no new locks and reuses no key. Each renewal of that
// session deletes the keys that belong to no known acquisition. So a request that arrives late does not block the
// queue. The session expires after its last lock has been released.
//
// # Data in etcd
//
// [Backend.Guard] returns a comparison for the If of your own transaction. etcd itself evaluates the comparison, so
// data in etcd needs no other fence. The guard of a reader compares the key of that reader.
//
// # Permissions
//
// With authentication, the user needs only a role that may read and write the keys that begin with the prefix and a
// slash:
//
//	etcdctl role grant-permission locks --prefix=true readwrite rowlock/
//
// User, password and TLS, including a client certificate, are settings of the client. With a password, each wait
// authenticates again, because etcd's client does so for every watch. Renewals do not authenticate. Set the client's
// DialKeepAliveTime, so that the client replaces a connection on which nothing arrives any more. This takes at least
// ten seconds plus DialKeepAliveTimeout. Until then, each call on that connection fails after its own timeout.
package etcdlock
