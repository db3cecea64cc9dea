// Package advisory implements locks with PostgreSQL's session-level advisory locks (PostgreSQL 12 or newer). It is a
// backend for package rowlock:
//
//	locker, err := rowlock.New(advisory.New(pool))     // a *pgxpool.Pool
//	locker, err := rowlock.New(advisory.NewDB(db))     // a *sql.DB, best with pgx's driver
//
// The server keeps such a lock in memory until the session that acquired it ends.
// Acquiring such a lock writes no row. The lock is free at once when the holder's process dies.
// With pgx, a holder whose connection ends is notified within about 100 ms. [InTx] acquires the lock of a name
// until the end of a transaction, and excludes the leases of that name.
//
// # Limits
//
// Failover: advisory locks are not replicated. A promoted standby has none of them, and can grant a name
// while a holder on the old primary still trusts its lease. That holder trusts the lease as long as its connection
// stays open. Tokens of the promoted server are larger than all earlier ones, so package fence rejects the old
// holder. The package refuses to lock on a server that is still a standby.
//
// Pooling: the server process owns the lock. A pooler in transaction mode may give that process to another client for
// the next statement, and both clients would be granted the lock. This package detects and refuses such poolers: see
// section "Poolers and read-only servers". [InTx] works with them.
//
// Dead hosts: if the holder's host vanishes or is suspended, the server keeps its locks until the server closes the
// connection. With the settings of section "Dead hosts", that takes about 30 s. A suspended holder stops trusting the
// lock at the end of its TTL. A lease row (package sqllock) expires by the clock instead.
//
// The options MinHold and HandoverDelay are refused, because both delay the next grant after a release, and an
// advisory lock is free as soon as it is released. The server stores only the key and the session of a lock. If
// another process holds the lock, a refusal names the session of that process, but not the holder's name, note or
// token.
//
// Prefer package sqllock if the database fails over, if it is behind a pooler in transaction mode,
// or if operators need to see who holds a lock. Prefer this package for many short locks, for locks that must be free
// at once after a crash, or if waiting must not write to the database.
//
// # Sessions
//
// A backend borrows a connection from the caller's pool for its first lock, and keeps any number of locks on it. It
// returns the connection 20 ms after the last release, unless a new request uses it until then. The only connection of a
// pool returns at once. The backend borrows another connection only if all borrowed connections are running a
// statement, or for a waiter. The option [Sessions] limits the number of connections. Leave room for these connections
// in the pool. A pgx pool closes only when all connections have been returned, so close the Locker first.
//
// A waiter waits in the server's queue, on a connection that holds nothing else, for half a second at a time. When the
// lock is released, the server grants it to the waiter at once. A waiting statement keeps a snapshot, and old snapshots
// delay VACUUM and CREATE INDEX CONCURRENTLY. That is why no wait is longer than half a second. If [Sessions] allows no
// other connection, the waiter polls with one short statement.
//
// The server would grant a lock again to the session that already holds it. So the backend refuses a request for a
// name that it already holds, without asking the server. If two names have the same key (see section "Keys"), the
// backend grants only one of them at a time.
//
// With pgx, from either kind of pool, each session that holds locks has a goroutine that reads from the connection,
// from a millisecond after each statement until the next. That goroutine notices at once when the server or the network
// ends the connection.
// Other drivers (lib/pq) do not expose the socket. A connection through a tunnel may not support read deadlines,
// which the goroutine needs. In both cases the next heartbeat notices the end.
//
// If the server does not answer, lib/pq waits for it even after the context of a call has ended. The call returns, and
// the lease is lost at the end of its TTL, less a margin. But the connection stays blocked, and the server keeps the
// locks, until the operating system's TCP timeout ends the connection.
//
// A heartbeat queries pg_locks, with one statement for all locks of a session, and checks that this session holds
// them. The interval between heartbeats (RenewEvery) must be shorter than idle_session_timeout and the idle timeouts
// of any proxy in between.
//
// If it is uncertain what a session holds, its connection is closed instead of returned to the pool, and all its
// leases are lost. This happens when an unlock reports that the session did not have the lock, when a heartbeat finds
// that a lock is missing, and when a statement gets no answer. If the context of a call ends while its statement runs,
// the package waits a quarter of a second longer for the answer. If the session holds other locks, the package waits
// longer: for the longest TTL of their leases, but at most for a minute.
//
// # Readers and writers
//
// A lease that was acquired with the option rowlock.Shared is called a share. One connection can hold an exclusive
// lock on one name and shares of other names. The server counts the shares of one name that one session holds. The
// server reports the sessions, but not how many shares each session holds. So several shares of a process on one
// connection can appear as one reader.
//
// A share has the token zero, and package fence rejects it. All readers that hold a name at the same time would need
// the same token. The first reader would have to pass that token to the others, but PostgreSQL cannot store a value
// with an advisory lock. Use package sqllock if readers must be fenced.
//
// Later readers queue behind a writer that waits. But a wait of half a second ends, and the writer then leaves the
// queue for a moment. So if the writer's wait times out because readers hold the lock, the writer reserves the name:
// its session acquires a second advisory lock. The key of the second lock is the same number, split into two 32-bit
// integers. The reservation ends with the writer's grant, or with its session. A statement that acquires a share also
// tests whether the name is reserved. This includes [InTx] with [TxShared]. A writer that finds no connection for
// waiting reserves nothing. It polls, and readers can overtake it.
//
// # Poolers and read-only servers
//
// On first use of a connection, the package queries the id of the server process (pg_backend_pid). With pgx, the
// package compares this id with the process id that the login reported. Behind any pooler the two ids differ. The
// package then refuses the connection, unless the option [SessionPooler] declares that the pooler is in session mode.
//
// With the option [SessionPooler], and always with drivers other than pgx, the package also tests for transaction
// mode: it opens a second connection of the pool while the first is idle. A pooler in transaction mode would then use
// the same server process for both connections. Each later statement checks that the same server process still serves
// the connection.
//
// A pooler in session mode must reset a session before the next client gets it (PgBouncer's default is
// server_reset_query = DISCARD ALL). Otherwise a dead client's locks stay on the pooler's connection.
//
// A refused pooler is reported as a [*PoolerError]. A standby and a session with default_transaction_read_only are
// also refused. All these errors are permanent, and rowlock.ErrUnavailable wraps them.
//
// # Dead hosts
//
// A server uses TCP keep-alive to notice that a client's host has vanished. On most operating systems this takes two
// hours by default. On the first use of a connection, the package therefore shortens four timeouts of the session,
// unless they are already as short: tcp_keepalives_idle to 15 s, tcp_keepalives_interval to 5 s, tcp_keepalives_count
// to 3 and tcp_user_timeout to 30 s. A connection that is returned to the pool keeps these settings. They cover the
// connection between the server and the nearest proxy. If there is a proxy, the connection between the proxy and the
// client needs keep-alive settings of the proxy. If the server's host vanishes, the client stops trusting each lease
// at the end of its TTL, less a margin.
//
// # Tokens
//
// A token is the number of PostgreSQL's timeline, shifted left by 40 bits, plus the next number of the sequence
// rowlock_lease_token. The statement that acquires the lock also takes the next number, after the lock was granted. A
// promotion begins a new timeline, so tokens rise even if the last numbers of the sequence were lost with the old
// primary.
//
// PostgreSQL writes a sequence to its log, and waits for the disk, once per 32 numbers. A grant with one of the other
// 31 numbers does not wait. The number of such a grant becomes durable with the next commit in this cluster. If the
// server crashes before that commit, the sequence may return the same number a second time. This is harmless within
// the cluster: no transaction that used the number was committed there.
//
// After a restore from a backup, the sequence may return numbers that were already used as tokens.
// Raise the sequence (setval) after a restore.
//
// Package migrations creates the sequence. The role needs USAGE on it:
//
//	GRANT USAGE ON SEQUENCE rowlock_lease_token TO app;
//
// If the sequence is missing, the error is a [*SchemaError]. With the option [NoToken] no sequence
// and no schema are needed, but package fence cannot protect data with such leases.
//
// # Keys
//
// [Key] maps a name to the number that PostgreSQL locks: the first eight bytes, big-endian, of the SHA-256 of "rowlock
// advisory", NUL, namespace, NUL, name. Keys are single bigints (pg_try_advisory_lock(bigint)), and are separate in
// each database of a cluster. Locks of other programs that use single bigints can have the same numbers. The
// probability that two of n names collide is about n²/2⁶⁵. A collision makes a caller wait, and never breaks exclusion.
//
//	namespace  name            key
//	           nightly-report  3476940109322798189
//	billing    nightly-report  -1245252141659388097
//	a          bc              4141080591918389201
//	           世界 🔒          943004209153606518
package advisory
