// Package zklock keeps locks in ZooKeeper 3.6 or newer. It is a backend for package rowlock:
//
//	locks := zklock.New([]string{"zk1:2181", "zk2:2181", "zk3:2181"})
//	defer locks.Close()
//	locker, err := rowlock.New(locks)
//
// # How it works
//
// A lock is a container node. Its children are the queue: ephemeral sequential nodes, one for each acquisition. The
// oldest child is the holder's. Their names follow ZooKeeper's own recipes, so the nodes of other programs are in the
// same queue. Characters that a path may not contain are escaped, and no name is a prefix of another. [Backend.Shared]
// is the form for readers, which wait only for writers.
//
// An acquisition is one transaction that creates its node and writes the lock's node. The reply contains the
// transaction's id, which is the token, and the number of children, which shows whether the new node is the first.
//
// TryAcquire adds the condition that no node was created since the queue was seen empty. So it never overtakes waiters,
// and a refusal writes nothing. Acquire has no such condition: its node is either a grant or an entry in the queue.
// Locks are granted in the order of the requests, across processes.
//
// Acquire and release are one commit each, contended or not. They take one round trip each for a name that this process
// has held before.
//
// The next waiter watches the holder's node and its own. On one connection, the servers send events in the order in
// which they happened. So if the holder's node is deleted while the waiter's own exists, the waiter is granted the lock
// without another request.
//
// All other waiters watch the two nodes before theirs. When the farther one is deleted, they read the queue while the
// nearer one holds the lock, and are then next. So a release wakes two waiters, however many there are. A waiter that
// is not next asks who holds the lock only after a tenth of a second, or when its wait fails.
//
// All locks of one Backend with the same TTL use one session, which has its own connection. For this, TTLs are rounded
// up to one of twenty lengths. A session ends when it was unused for a minute, or when a locker is closed.
//
// A renewal is one transaction for any number of locks, with operations that change nothing. It proves that a majority
// knows the session, and that each node exists. If a session ends, all its locks are lost at once, and the next lock
// gets a new session.
//
// # Guarantees
//
// Exclusion and tokens are linearizable. They survive the loss of a minority of servers, the loss of the leader, and
// restarts. Sessions may end late but never early, because a new leader restarts the full timeout of each.
//
// The requested session timeout is twice the TTL (rounded up). The servers limit it, by default to between two and
// twenty ticks, which is 4 s and 40 s.
//
// After a crash, the lock becomes free within the timeout and one tick. Each change of leader adds the same time again.
// A waiter that crashes keeps its node in the queue for as long. A lock that is released meanwhile stays blocked for
// the waiters behind it.
//
// A lease is trusted for four tenths of the timeout, which is eight tenths of the TTL. That is counted from before the
// sending of the last request that a majority answered.
//
// A client's ping proves nothing, because its server answers it even if the other servers no longer follow that server.
// The rest of the timeout covers the leader's delay: a server forwards pings with the leader's next ping.
//
// A holder that is cut off, alone or with its server, stops in time. Its session is then ended and never resumed.
//
// The token is the transaction id that created the node (its czxid). It is never the sequence number, which may
// restart. A new ensemble, and one restored from a snapshot, counts from an earlier id. Reset the fences of resources
// outside ZooKeeper then.
//
// # Limits
//
// MinHold and HandoverDelay are refused, because ZooKeeper cannot block a lock after its node is deleted. The servers
// remove the node of a free lock, so an inspector shows it as never granted.
//
// # Lost replies
//
// ZooKeeper's client does not support contexts, so a request continues after its caller has returned. The node that it
// leaves is either found by its nonce or deleted in the background, and this is retried until it succeeds. The search
// uses the next connection of the same session, after a commit. If a server does not answer a request, the client moves
// to another server after two seconds at most, or sooner for short TTLs.
//
// # Data in ZooKeeper
//
// [Backend.Guard] returns an operation for your own multi. It is exact, and data in ZooKeeper need no other fence.
//
// # Permissions and TLS
//
// With [Digest] or [Auth], only clients with the same credentials can use the nodes or see who holds a lock. [ACL]
// overrides this. Without any of these options, every client of the servers can end every lock. A user needs to read,
// write, create and delete below the root. An administrator can create the root's parent for this. For TLS give a
// [Dialer]:
//
//	d := &tls.Dialer{Config: config}
//	locks := zklock.New(servers, zklock.Dialer(d.DialContext))
package zklock
