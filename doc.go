/*
Package rowlock lets many processes agree on who may do a thing, with the database that they
already have.

	locker, err := rowlock.New(sqllock.Postgres(db))
	…
	err = locker.Do(ctx, "nightly-report", func(ctx context.Context, lease *rowlock.Lease) error {
		return report(ctx, lease.Token())
	})

# Model

A lock is a name. A [Locker] asks a store for it and gets a [Lease]: the name is granted for a TTL
by the store's clock, and renewed in the background for as long as the lease is not released. If the
process dies, nobody renews, and the name is free when the TTL is over.

A lease can be lost: the process was paused, the network was cut, an operator ended it. So a lease
carries three things:

  - a context, [Lease.Context], that ends before the store can grant the name to another. Its
    deadline is counted on this machine's clocks from before the last successful request was sent,
    less a [Margin]. No request has to succeed or fail for it to end;
  - an answer, [Lease.Err], that looks at the clocks when asked, because timers are late after a
    pause;
  - a [Token] that is larger than that of every earlier grant of the name. A resource that refuses
    smaller tokens than it has seen is safe even from a holder that has not noticed its loss.

The first two need clocks that run at about the same speed. The third needs no clock at all, and the
help of the resource. Package fence is that help for data in a SQL database: the option [Fenced]
seals the data for a new holder, and a check in each transaction refuses every older one.

# Using it

[Locker.Do] is the usual way: it acquires, runs a function, and releases. The ctx of the function
ends when the lease does. [Locker.Acquire] and [Lease.Release] are the parts of it.
[Locker.TryAcquire] and [Locker.TryDo] do not wait. The ctx of a call bounds its waiting and nothing
else; [Wait] does so, too. [FromContext] finds the lease further down in the program.

[Lead] is for what one process of many does for as long as it can, a scheduler for one: it campaigns,
runs a function while it leads, and campaigns again when it has lost the name.

[Locker.Pause] closes a name for maintenance, and [Locker.Resume] opens it: whoever asks meanwhile is told
who has paused it, and why.

Names are exact: up to 512 bytes of UTF-8, case and trailing space significant. The one character
that no name may have is NUL, which no SQL database can keep in a text.

Options are given to [New] as defaults and to single calls. TTL is how soon a crash frees the name,
and limits no work. [MinHold] keeps a name closed although it was released, [HandoverDelay] although
it was lost; [MaxHold] ends a lease that is renewed for too long.

# Errors

Held, lost, unknown and unavailable are four different things:

	ErrHeld          somebody else has the name; a *HeldError says who, since when, until when
	ErrLost          the lease ended before it was released; a *LostError says how that was noticed
	ErrUnknown       the store was asked and no answer came: it may have happened or not
	ErrUnavailable   the store could not be asked, or refused; nothing was acquired
	ErrNotHeld       the lease has ended, by loss or (ErrReleased) by release
	ErrClosed        the locker is closed

A failed renewal is unknown, not lost: it is tried again until the deadline, and the deadline makes
it lost.

# What happens when

	the holder crashes              the name is free when its TTL is over
	the holder is paused            its context ends at the deadline, or, if nothing could run, the
	                                moment it asks; what it writes without asking, the token refuses
	the store is away               leases live until their deadline; Acquire keeps asking for a TTL, a
	                                minute at most, then fails with ErrUnavailable
	the store hangs                 the same; every request has a limit
	a reply is lost                 the request is sent again and recognised by its nonce; given up,
	                                it is taken back in the background
	a release is lost               it is tried again in the background, and ends with the TTL
	a wake-up is lost               a jittered poll of at most about a second finds out
	the server's clock is set       forward: leases end early at the store, so two holders are
	                                possible until the first one's deadline, and tokens tell them
	                                apart; back: names are freed late, and tokens still rise
	the server fails over           with sqllock, nothing is granted for one longest TTL, and tokens
	                                rise although the last grants may be forgotten

# What is not promised

No lock that expires can promise that two processes never act at once: a process may be paused
between looking at its lease and writing. That is what the token is for. Waiters of one process are
served first come, first served; waiters of different processes are not, unless the backend says
so (its Capabilities). Where the backend can, the waiters of a process hand a name on among themselves
in one request, at most 16 times in a row and for a tenth of a second; then it goes through the store,
for others to have their turn. Names are freed after a crash with the TTL and not before.

# Choosing a backend

Take the database in which the work is done: package sqllock for PostgreSQL, MySQL, MariaDB and
SQLite, where a lock is a row. The others are for those who have a reason:

  - Packages advisory and mysqlock keep locks of sessions, in the memory of one PostgreSQL, MySQL or
    MariaDB server. A name is free as soon as the server notices that its holder's connection is
    gone; a failover forgets all. They need a connection of their own, and no transaction pooler.
  - Package kvlock/redislock is for those who have Redis and no database within reach. A server that
    loses what it acknowledged may grant a name twice; a Redlock of several servers likewise, more rarely.
  - Packages kvlock/etcdlock and kvlock/zklock survive the loss of a minority of their servers without
    forgetting a lock, and are fair across processes. Each commit takes a quorum.

Every Backend says what it does and does not do in its Capabilities, and each has a page in the
folder docs. Package memlock keeps locks in memory, for tests. Package locktest checks any backend,
also one of your own, which package driver tells how to write.

# Telling what happens

The library logs nothing unless it is given a [Logger]. [Tracing] takes functions that are called as
things happen. Both may be given, and package otellock makes metrics and spans of the same events.

No goroutine, timer or connection is per lease; waiting takes a timer for each name, and on some stores a
connection. After [Locker.Close] no goroutine is left.
*/
package rowlock
