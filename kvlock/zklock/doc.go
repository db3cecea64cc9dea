// Package zklock keeps locks in ZooKeeper 3.6 or newer. It is a backend for package rowlock:
//
//	locks := zklock.New([]string{"zk1:2181", "zk2:2181", "zk3:2181"})
//	defer locks.Close()
//	locker, err := rowlock.New(locks)
//
// # How it works
//
// A lock is a container node, and its children are a queue: ephemeral, sequential nodes, one for each
// acquisition, of which the oldest is the holder's. They are called as ZooKeeper's own recipes call them,
// so that other programs' nodes stand in the same queue. Whatever ZooKeeper does not take in a path is
// escaped, and no name is the beginning of another. [Backend.Shared] is the form for readers, who wait
// for writers only.
//
// An acquisition is one transaction, which creates its node and writes the lock's: the answer has the
// number of the transaction, which is the token, and how many children there are now, which is who is
// first. An attempt makes it on the condition that nobody came since the queue was seen empty. It never
// passes those who wait, and a refusal writes nothing. Who is ready to wait makes it without a condition:
// it is a grant, or a place in the queue. Locks are granted in the order of the requests, across processes.
// Acquire and release are one commit each, waited for or not, and one round trip each for a name that this
// process had before.
//
// Whoever is next watches the holder's node and its own. The servers tell on one connection what happened in the order
// in which it did: when they tell that the node before was deleted, and its own still stood, it is granted
// the lock without another request. All others watch the two nodes before them. When the further one goes they look,
// while the other has its turn, and are next: so two waiters wake when a holder goes, however many there are. Whoever
// stands behind others asks who holds the lock only when it has waited for a tenth of a second, or in vain.
//
// All locks of one Backend with one TTL live on one session, which has a connection of its own. TTLs are
// rounded up for that, to one of twenty lengths. A session that nobody uses ends after a minute, and when
// a locker is closed. A
// renewal is one transaction, however many locks, of operations that change nothing: it proves that a
// majority knows the session, and that each node is there. When a session ends, all its locks are lost
// at once, and the next lock gets a new one.
//
// # What is promised
//
// Exclusion and tokens are linearizable through the loss of a minority of servers, of the leader, and
// through restarts. Sessions end late and never early: a new leader gives each its full timeout again.
//
// The timeout that is asked for is twice the TTL (rounded up), of which the servers grant what their settings permit:
// between two and twenty ticks, 4 s and 40 s, unless told otherwise. A crash frees the name within the
// timeout and one tick, and as much again for each change of leader. A waiter that crashes keeps its place in
// the queue for as long: a lock that is released meanwhile stays closed to those behind it.
//
// A lease is trusted for four tenths of the timeout, which is eight tenths of the TTL, counted from
// before the last request was sent that a majority answered. A client's sign of life proves nothing: the
// server that it talks to answers it, also when the others have given that server up. The rest of the
// timeout is for what the leader knows late: a server passes signs of life on with the leader's next
// ping. A holder that is cut off, alone or with its server, stops in time. Its session is then ended for
// good, and not picked up again.
//
// The token is the transaction that created the node (its czxid), never its sequence number, which begins
// again. A new ensemble, and one restored from a snapshot, counts from an earlier number: reset the
// fences of resources outside then.
//
// # What is not
//
// MinHold and HandoverDelay are refused: ZooKeeper cannot keep a lock closed after its node is gone. The
// servers clear away a lock that stands empty, so an inspector shows it as never granted.
//
// # Requests whose replies are missing
//
// The client of ZooKeeper knows no context. A request goes on when its caller has left, and what it
// leaves is found again by the nonce, on the next connection of the same session and after a commit, or
// taken back, in the background until that is certain. A server that says nothing while it is asked is
// left for another after two seconds at most, and sooner for short TTLs.
//
// # Data in ZooKeeper
//
// [Backend.Guard] is an operation for the caller's own multi. It is exact, and needs no fence besides.
//
// # Rights and TLS
//
// With [Digest] or [Auth], nodes are made for those who authenticate alike, and nobody else sees who
// holds what; [ACL] says otherwise. Without any of them everybody who reaches the servers may end every
// lock. A user needs to read, write, create and delete below the root, whose
// parent an administrator may have made for that. For TLS give a [Dialer]:
//
//	d := &tls.Dialer{Config: config}
//	locks := zklock.New(servers, zklock.Dialer(d.DialContext))
package zklock
