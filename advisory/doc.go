// Package advisory keeps locks as advisory locks of Postgres sessions (PostgreSQL 12 or newer). It is
// a backend for package rowlock:
//
//	locker, err := rowlock.New(advisory.New(pool))     // a *pgxpool.Pool
//	locker, err := rowlock.New(advisory.NewDB(db))     // a *sql.DB, best with pgx's driver
//
// A lock lives in the memory of the server for as long as the session that took it. It writes no row,
// it is free in the moment in which its holder's process dies, and a holder whose connection ends is
// told within 100 ms. [InTx] takes a lock of the same names for as long as a transaction lasts.
//
// # What these locks cannot do
//
// Failover: advisory locks are not replicated. A promoted standby knows of none, and grants what the
// old primary's holder, as long as his connection to it stands, still believes to have. Tokens are
// larger on the promoted server, so package fence refuses the old holder. Standbys are refused.
//
// Pooling: the lock is the server process's. A pooler in transaction mode gives that to somebody else
// with the next statement: both are then granted the lock. It is refused: see below. [InTx] works.
//
// A host that vanishes without a word, or is stopped, keeps its locks until the server gives its
// connection up: about 30 s here, see below. The holder itself stops trusting after its TTL. A lease
// row ends by the clock instead.
//
// MinHold and HandoverDelay outlast the session, and are refused. Nothing is kept of a lock but the
// key and the session: a refusal names the session, and neither holder, note nor token of another
// process.
//
// Prefer package sqllock where the database fails over, stands behind a pooler in transaction mode, or
// where operators are to read who holds what; prefer this package for locks that are many and short,
// that must be free at once after a crash, or whose waiting must write nothing.
//
// # Sessions
//
// A backend borrows a connection of the caller's pool with the first lock, puts any number of locks on
// it, and gives it back with the last. Another, up to [Sessions], is borrowed only while all are busy
// with a statement. The pool must have room for them beside the work; one of pgx is closed only when
// they are back, so close the Locker first. Whoever waits stands in the server's queue, on a
// connection of its own that holds nothing else, half a second at a time: the server wakes it at once,
// and no snapshot is kept for longer, which would hold up vacuum and CREATE INDEX CONCURRENTLY. When no
// more connections may be taken, waiting is by polling with one short statement.
//
// The server would grant a lock again to the session that has it. So a name that is held through a
// backend is refused without asking, and two names with one key are in each other's way and never both
// granted.
//
// With pgx, from either kind of pool, a goroutine for each session that holds something reads from the
// connection between statements: that is how its end is noticed at once. Other drivers (lib/pq) lend no
// socket, and a connection through a tunnel may know no deadlines: there the next heartbeat notices. lib/pq moreover goes on waiting for a server that has fallen
// silent when the context of the call has ended: the call returns, and the lease is lost in time, but
// the connection is stuck, and what the server holds for it is held, until TCP gives up. A heartbeat asks pg_locks, with one statement for all locks
// of a session, whether they are this session's. It must be more frequent (RenewEvery) than
// idle_session_timeout and the time-outs of whatever stands between.
//
// A session of which it is not certain what it holds is closed and not given back, and all leases on it
// are lost: when an unlock answers that it did not have the lock, when a heartbeat misses one, when a
// statement has not been answered. A call whose context ends leaves its statement some time to be
// answered: a quarter of a second, or for as long as another lease on the session can be trusted.
//
// # Poolers and read-only servers
//
// The first use of a connection asks which process serves it. With pgx that must be the one that the
// login told of; behind a pooler it is not, in any mode. [SessionPooler] says that the mode is session;
// then, and always with other drivers, a second connection of the pool tries to get hold of the first
// one's process, in the way in which a pooler in transaction mode gives it away. Each later statement
// makes sure that it is the same process. A pooler in session mode must reset a session before the next
// client gets it (PgBouncer's server_reset_query = DISCARD ALL, which is its default), or the locks of a
// client that died stay. The error is a [*PoolerError]. A standby and a session with
// default_transaction_read_only are refused as well. All of them are lasting errors, which
// rowlock.ErrUnavailable wraps.
//
// # Dead hosts
//
// A server notices a client that has vanished by TCP keep-alive, after two hours as operating systems
// come. The first use of a connection therefore sets, where they are laxer, tcp_keepalives_idle to 15 s,
// tcp_keepalives_interval to 5 s, tcp_keepalives_count to 3 and tcp_user_timeout to 30 s, for the session
// only. A connection that goes back to the pool keeps these settings. They reach as far as the next
// proxy; what stands between needs its own. A client notices a dead server by its trust deadline.
//
// # Tokens
//
// A token is the server's timeline, shifted by 40 bits, and the next number of the sequence
// rowlock_lease_token, which the statement that locks takes under the lock. A promotion begins a new
// timeline, so tokens rise although the last numbers of the sequence may have been lost with the old
// primary. Postgres logs a sequence, and waits for the disk, once in 32 numbers. The number of a grant
// that did not wait is as durable as the next commit in this cluster: a server that crashes in the
// moment between may hand it out again, but nothing has been committed here with it.
// A restored backup may hand out numbers again: raise the sequence then (setval).
//
// The sequence comes from package migrations. The role needs USAGE on it:
//
//	GRANT USAGE ON SEQUENCE rowlock_lease_token TO app;
//
// A missing one is a [*SchemaError]. [NoToken] does without, needs no schema at all, and cannot be
// fenced.
//
// # Keys
//
// [Key] maps a name to the number that Postgres locks: the first eight bytes, big-endian, of the SHA-256
// of "rowlock advisory", NUL, namespace, NUL, name. Keys are of one bigint (pg_try_advisory_lock(bigint))
// and apart in each database of a cluster. Other programs that use such keys share the number space; that
// two of n names collide has a probability of about n²/2⁶⁵, and costs waiting, not exclusion.
//
//	namespace  name            key
//	           nightly-report  3476940109322798189
//	billing    nightly-report  -1245252141659388097
//	a          bc              4141080591918389201
//	           世界 🔒          943004209153606518
package advisory
