// Package zklock keeps locks in ZooKeeper 3.6 or newer. It is a backend for package rowlock:
//
//	locks := zklock.New([]string{"zk1:2181", "zk2:2181", "zk3:2181"})
//	defer locks.Close()
//	locker, err := rowlock.New(locks)
//
// # How it works
//
// A lock is a container node. Its children are the queue: ephemeral sequential nodes, one for each acquisition. The
// oldest child is the holder's. The names of the children follow ZooKeeper's own recipes, so programs that use those
// recipes wait in the same queue. Characters that a path may not contain are escaped, and no name is a prefix of
// another. Readers (the option rowlock.Shared) wait only for writers. Readers that hold the lock at the same time have
// the same token.
//
// An acquisition is one transaction that creates the acquisition's node and writes the lock's node. The reply contains
// the transaction's id, which is the token. It also contains the number of children, which shows whether the new node
// is the first in the queue.
//
// TryAcquire adds the condition that no writer's node was created since the queue was seen empty. So TryAcquire never
// overtakes waiters, and a refused TryAcquire writes nothing. There is one exception: if readers that waited for the
// last writer of the same process hold the lock, TryAcquire may create its node and delete it again. Acquire has no such
// condition: its node is either a grant or an entry in the queue. Locks are granted in the order of the requests, across
// processes.
//
// A waiter watches the node before its own. When that node is deleted, the waiter reads the queue. If no entry blocks it
// any more, it is granted the lock. So a release wakes one waiter, however many there are, and needs one read of the
// waiter's server.
//
// A release for a tick (rowlock.Once) writes the tick into a child of the lock's node that is not in the queue, in the
// same transaction. The number of children shows whether there is a tick to read. The locks of readers keep no ticks.
//
// All locks of one Backend with the same TTL use one session, which has its own connection. To choose a session, TTLs
// are rounded up to one of twenty lengths. An unused session ends when a locker is closed.
//
// A renewal is one transaction for any number of locks, with operations that change nothing. The transaction proves
// that a majority of the servers knows the session, and that each lock's node exists. If a session ends, all its locks
// are lost at once, and the next lock gets a new session.
//
// # Guarantees
//
// Exclusion and tokens are linearizable. They survive the loss of a minority of servers, the loss of the leader, and
// restarts. Sessions may end late but never early, because a new leader restarts the full timeout of each session.
//
// The requested session timeout is twice the TTL (rounded up). The servers limit it. After a crash, the lock becomes
// free within the timeout plus the servers' tickTime. Each change of leader during that time adds the same time again.
// The node of a crashed waiter blocks the waiters behind it for the same time.
//
// A holder trusts its lease for four tenths of the timeout, which is eight tenths of the TTL. This time begins just
// before the holder sends a request, and counts only if a majority of the servers has answered that request.
//
// A client's ping proves nothing, because a server answers pings even if it is cut off from the other servers.
//
// A holder that is cut off, alone or with its server, stops before the servers end its session. The backend never uses
// that session again.
//
// A writer's token is the id of the transaction that created the writer's node (the node's czxid). The node's sequence
// number would be no good token, because sequence numbers may restart. A new ensemble, and an ensemble that was
// restored from a snapshot, counts from an earlier id. In both cases, reset the fences of resources outside ZooKeeper.
//
// # Limits
//
// MinHold and HandoverDelay are refused, because ZooKeeper cannot block a lock after its node is deleted. The servers
// remove the node of a free lock without a tick, so an inspection reports a free lock as never granted. The node of a
// lock with a tick stays until Prune deletes the tick.
//
// # Lost replies
//
// ZooKeeper's client does not support contexts, so a request continues after its caller has returned. Such a request
// may leave a node in the queue. A retry finds the node by its nonce. Otherwise the backend deletes the node in the
// background, and repeats that until it succeeds. The search for the node uses a new connection of the same session,
// so the lost request cannot arrive after the search. The search begins with a request that the leader commits, so
// that it sees the result of every earlier request. If a server does not answer a request, the client moves to another
// server after two seconds at most, or sooner for short TTLs.
//
// # Data in ZooKeeper
//
// [Backend.Guard] returns an operation for your own multi. The servers themselves evaluate the operation, so data in
// ZooKeeper needs no other fence.
//
// # Permissions and TLS
//
// With [Digest] or [Auth], only clients with the same credentials can use the nodes or see who holds a lock. The option
// [ACL] overrides this. Without any of these options, every client of the servers can end every lock. A user needs to
// read, write, create and delete below the root. For this, an administrator can create the root's parent with these
// rights. For TLS pass a [Dialer]:
//
//	d := &tls.Dialer{Config: config}
//	locks := zklock.New(servers, zklock.Dialer(d.DialContext))
package zklock
