// Package advisory keeps locks as PostgreSQL advisory locks of sessions (PostgreSQL 12 or newer). It is a backend for
// package rowlock:
//
//	locker, err := rowlock.New(advisory.New(pool))     // a *pgxpool.Pool
//	locker, err := rowlock.New(advisory.NewDB(db))     // a *sql.DB, best with pgx's driver
//
// The server keeps such a lock in memory until the session that acquired it ends. The lock writes no row. It is free at
// once when the holder's process dies. A holder whose connection ends is notified within 100 ms. [InTx] acquires a lock
// of the same names until the end of a transaction.
//
// # Limits
//
// Failover: advisory locks are not replicated. A promoted standby has none of them, and can grant a name that a holder
// on the old primary still trusts while its connection stays open. Tokens are larger on the promoted server, so package
// fence rejects the old holder. Standbys are refused.
//
// Pooling: the server process owns the lock. A pooler in transaction mode may give that process to another client for
// the next statement, and both clients would be granted the lock. This package detects and refuses such poolers, as
// described below. [InTx] works with them.
//
// Dead hosts: if the holder's host vanishes or is suspended, its locks stay until the server closes the connection,
// after about 30 s with the settings below. The holder itself stops trusting the lock after its TTL. A lease row
// (package sqllock) expires by the clock instead.
//
// MinHold and HandoverDelay would have to outlast the session, and are refused. The server stores only the key and the
// session of a lock. A refusal names the session, but not the holder, note or token of another process.
//
// Prefer package sqllock if the database fails over, if it is behind a pooler in transaction mode, or if operators need
// to see who holds a lock. Prefer this package for many short locks, for locks that must be free at once after a crash,
// or if waiting must not write.
//
// # Sessions
//
// A backend borrows a connection from the caller's pool for its first lock, keeps any number of locks on it, and
// returns it after the last release. It borrows more connections, up to [Sessions], only while all others are running
// a statement. Leave room for these connections in the pool. A pgx pool closes only when all connections have been
// returned, so close the Locker first.
//
// A waiter waits in the server's queue, on a connection that holds nothing else, for half a second at a time. The
// server wakes it at once. No snapshot is kept for longer than half a second, because it would delay VACUUM and
// CREATE INDEX CONCURRENTLY. If no more connections are allowed, the waiter polls with one short statement.
//
// The server would grant a lock again to the session that already holds it. So the backend itself refuses a name
// that it already holds, without a request to the server. Two names with the same key exclude each other and are never both granted.
//
// With pgx, from either kind of pool, a goroutine per session that holds locks reads from the connection between
// statements. It notices the end of the connection at once. Other drivers (lib/pq) do not expose the socket, and a
// connection through a tunnel may not support deadlines. In these cases the next heartbeat notices the end.
//
// lib/pq also keeps waiting for a silent server after the context of a call has ended. The call returns, and the lease
// is lost in time. But the connection stays blocked, and the server keeps its locks, until TCP gives up.
//
// A heartbeat queries pg_locks, with one statement for all locks of a session, and checks that this session holds them.
// Heartbeats must be more frequent (RenewEvery) than idle_session_timeout and the timeouts of any proxy in between.
//
// If it is uncertain what a session holds, the session is closed instead of returned, and all its leases are lost. This
// happens when an unlock reports that the session did not have the lock, when a heartbeat misses a lock, and when a
// statement gets no answer. A call whose context ends leaves its statement some time to be answered: a quarter of a
// second, or as long as another lease on the session can be trusted.
//
// # Poolers and read-only servers
//
// On first use of a connection, the package asks which server process serves it. With pgx this must be the process that
// the login reported. Behind any pooler it is another process. [SessionPooler] declares that the pooler is in session mode.
//
// With this option, and always with other drivers, a second connection of the pool tries to get the server process of
// the first. A pooler in transaction mode would give that process to the second connection. Each later statement checks that the process is still the
// same.
//
// A pooler in session mode must reset a session before the next client gets it (PgBouncer's default is
// server_reset_query = DISCARD ALL). Otherwise the locks of a dead client stay.
//
// The error is a [*PoolerError]. A standby and a session with default_transaction_read_only are also refused. All these
// errors are permanent, and rowlock.ErrUnavailable wraps them.
//
// # Dead hosts
//
// A server notices by TCP keep-alive that a client's host has vanished, by default after two hours on most operating
// systems. The first use of a connection therefore sets four parameters for the session, where they are less strict:
// tcp_keepalives_idle to 15 s, tcp_keepalives_interval to 5 s, tcp_keepalives_count to 3 and tcp_user_timeout to 30 s.
// A connection that is returned to the pool keeps these settings. They apply up to the next proxy, which needs its own
// settings. A client notices a dead server by its trust deadline.
// # Tokens
//
// A token is the server's timeline, shifted left by 40 bits, plus the next number of the sequence rowlock_lease_token.
// The statement that acquires the lock takes the number while it holds the lock. A promotion begins a new timeline, so
// tokens rise even if the last numbers of the sequence were lost with the old primary.
//
// PostgreSQL logs a sequence, and waits for the disk, once per 32 numbers. The number of a grant that did not wait
// becomes durable with the next commit in this cluster. If the server crashes before that commit, it may give out
// the number again, but nothing was committed in this cluster with that number.
//
// A restored backup may give out old numbers again. Raise the sequence (setval) after a restore.
//
// Package migrations creates the sequence. The role needs USAGE on it:
//
//	GRANT USAGE ON SEQUENCE rowlock_lease_token TO app;
//
// If the sequence is missing, the error is a [*SchemaError]. [NoToken] works without it and needs no schema, but
// package fence cannot protect data with such leases.
//
// # Keys
//
// [Key] maps a name to the number that PostgreSQL locks: the first eight bytes, big-endian, of the SHA-256 of "rowlock
// advisory", NUL, namespace, NUL, name. Keys are single bigints (pg_try_advisory_lock(bigint)), and are separate in
// each database of a cluster. Other programs that use such keys share the number space. The probability that two of n
// names collide is about n²/2⁶⁵. A collision makes a caller wait, and never breaks exclusion.
//
//	namespace  name            key
//	           nightly-report  3476940109322798189
//	billing    nightly-report  -1245252141659388097
//	a          bc              4141080591918389201
//	           世界 🔒          943004209153606518
package advisory
