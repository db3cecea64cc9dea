/*
Package rowlock coordinates exclusive access between processes. It uses the database that they already have.

	locker, err := rowlock.New(sqllock.Postgres(db))
	…
	err = locker.Do(ctx, "nightly-report", func(ctx context.Context, lease *rowlock.Lease) error {
		return report(ctx, lease.Token())
	})

# Model

A lock is a name. A [Locker] acquires the name from a store and returns a [Lease]. The store grants the name
for a limited time, the TTL, which it measures with its own clock. The Locker renews the lease in the
background until the caller releases it. If the process dies, the renewals stop, and the name becomes free
when the TTL is over.

A holder can lose its lease: its process was suspended, the network failed, or an operator ended the lease.
Therefore a lease carries three things:

  - A context, [Lease.Context], that ends before the store can grant the name to another holder. This machine's
    clocks measure the deadline: it is the time just before the last successful request was sent, plus the TTL,
    minus a [Margin]. The context ends at the deadline even if the store does not reply.
  - A method, [Lease.Err], that reads the clocks on each call. Timers fire late after a suspension, but Err does
    not depend on timers.
  - A [Token] that is larger than the token of every earlier grant of the name. A resource that rejects tokens
    smaller than the largest token it has seen is safe even from a holder that has not noticed its loss.

A lease is trusted until its deadline: until then the holder may rely on it.

The context and Err need clocks that run at about the same speed. The token needs no clock, but the resource
has to check it. Package fence does that for data in a SQL database. With the option [Fenced], a new holder first stores
its token next to the data. This is called sealing. From then on, a check in each transaction rejects every older
holder.

# Using it

[Locker.Do] is the usual method. It acquires a lease, runs a function, and releases the lease. The ctx of the
function ends when the lease does. [Locker.Acquire] and [Lease.Release] are the two steps of Do.
[Locker.TryAcquire] and [Locker.TryDo] do not wait. The ctx of Acquire and the option [Wait] limit only how long
Acquire waits, not how long the lease lasts. [FromContext] returns the lease in functions that are called with a
ctx of the lease.

[Lead] is for work that one of many processes does for as long as it can, such as a scheduler. Lead waits for
the name, runs a function while it holds the name, and waits again after it has lost the name.

[Locker.AcquireAll] and [Locker.DoAll] acquire several names, all or none. [Locker.AcquireAny] and [Locker.DoAny]
acquire one of several names. With n names, at most n callers work at a time.

[Once] runs a function for one occasion of a schedule, such as a day, unless the function has already succeeded
for that occasion. Many processes may call Once. The first process that acquires the name runs the function.

[Locker.Pause] makes a name unavailable for maintenance, and [Locker.Resume] makes it available again. A call
that fails because of the pause returns an error that says who has paused the name, and why.

A name has up to 512 bytes of UTF-8. Case and trailing spaces matter. A name must not contain a NUL character,
because no SQL database can store it in a text.

Options given to [New] are defaults, and options given to a call override them. The TTL decides how soon a
name becomes free after a crash. It does not limit how long you may hold the name. [MinHold] keeps a name
unavailable for a minimum time after its grant, even if it is released earlier. [HandoverDelay] keeps a name
unavailable after a lease that expired without a release. [MaxHold] ends a lease that has been held for too long.

# Errors

Held, lost, unknown and unavailable are four different outcomes:

	ErrHeld          another holder has the name; a *HeldError says who holds it, since when, until when
	ErrLost          the lease ended before it was released; a *LostError says why
	ErrUnknown       a request was sent and no reply came; it may have been applied
	ErrUnavailable   the store could not be reached, or rejected the request; nothing was acquired
	ErrNotHeld       the lease has ended, by loss or (ErrReleased) by release
	ErrClosed        the locker is closed

The outcome of a failed renewal is unknown. The Locker retries until the deadline, and only the deadline
makes the lease lost.

# What happens when

	the holder crashes              the name becomes free when its TTL is over
	the holder is suspended         its context ends at the deadline, or when the process runs again;
	                                a write made without checking is rejected because of its old token
	the store is unreachable        leases stay valid until their deadlines; Acquire retries for one TTL,
	                                a minute at most, then fails with ErrUnavailable
	the store hangs                 the same as if it were unreachable, because every request has a time limit
	a reply is lost                 the Locker sends the request again, and the store recognises its nonce;
	                                if the caller gives up, a background task releases the grant
	a release is lost               a background task retries the release; the grant ends with its TTL at the latest
	a notification is lost          the waiter polls at most 20 seconds later
	the server's clock is set       forward: leases end early at the store, so a second holder is possible
	                                until the first holder's deadline, and only tokens distinguish the two;
	                                back: names become free late, and tokens still rise
	the server fails over           with sqllock, nothing is granted for the longest TTL, and tokens
	                                rise even if the server has lost the last grants

# What is not promised

A lock that expires cannot guarantee that only one process acts. A process may be suspended after it has checked its
lease and before it writes. In that case only a check of the token in the resource rejects the write.

Waiters of one process are served first come, first served. Waiters of different processes have no such
order, unless the backend's Capabilities say so. On some backends a release hands the name over to the next
waiter of the same process in one request. This happens at most 16 times in a row and for 100 ms at most. Then
the release frees the name in the store, so that other processes can acquire it.

After a crash the name stays unavailable until the TTL is over.

# Readers and writers

With the option [Shared] several readers hold a name together. A call without it is a writer, and excludes all others.
A writer that waits is not overtaken by readers that come later. All readers that hold a name together have one
token, so package fence rejects all of them as soon as the next writer has sealed the data.

# Choosing a backend

Use the database that holds your data: package sqllock for PostgreSQL, MySQL, MariaDB and SQLite keeps each lock
in a row. The other backends are for special needs:

  - Packages advisory and mysqlock use session locks, which one PostgreSQL, MySQL or MariaDB server keeps in its
    memory. A name becomes free as soon as the server notices that the holder's connection is gone. A failover
    loses all locks. These packages need connections of their own, and do not work through a transaction pooler.
  - Package kvlock/redislock is for programs that have Redis and no database. A server that loses acknowledged
    writes may grant a name twice. Package kvlock/redlock uses several Redis servers. It may grant a name twice, too,
    but less often.
  - Packages kvlock/etcdlock and kvlock/zklock survive the loss of a minority of their servers without losing a
    lock, and are fair across processes. Each commit needs a quorum of the servers.

The Capabilities of each backend say what it guarantees, and each backend has a page in the folder docs.
Package memlock keeps locks in memory, for tests. Package locktest checks any backend. Package driver
explains how to write one.

# Observing it

The library logs nothing unless you give it a [Logger]. [Tracing] takes functions that are called for each event.
You can use both. Package otellock makes metrics and spans from the same events.

A lease has no goroutine, timer or connection of its own. Waiting needs one timer for each name, and on some
stores a connection. After [Locker.Close] no goroutine is left.
*/
package rowlock
