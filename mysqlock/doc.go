// Package mysqlock implements locks with the named locks of MySQL and MariaDB (GET_LOCK), which belong to sessions. It
// is a backend for package rowlock:
//
//	locker, err := rowlock.New(mysqlock.New(db))
//
// A renewal writes no row. The lock is free as soon as its holder's connection ends, not a TTL later. However, the
// lock is only in the memory of one server, and is not replicated. If the limits below matter to you, use package
// sqllock. Its lease rows do not have these limits.
//
// # What holds a lock
//
// Locks are held on connections that the backend borrows from the caller's pool. One connection can hold any number
// of locks. It returns to the pool 20 ms after the last release, unless a new request uses it until then. The only
// connection of a pool returns at once. [Sessions] limits the number of borrowed connections.
//
// The server would grant a lock again to the session that already holds it. The backend never sends such a request,
// so two callers of one process exclude each other like callers of two processes.
//
// If it is uncertain which locks a connection holds, the backend closes the connection instead of returning it
// to the pool. All leases on it are lost.
//
// Leave room in the pool for other work. With SetMaxOpenConns(n), the backend uses at most half of the n connections,
// unless the option Sessions allows more. A grant briefly uses another connection to write its row.
//
// A holder trusts its lease for one TTL after the last proof that its session holds the lock. Each renewal is such a
// proof. It runs one statement on each connection, and the statement checks all locks of that connection with
// IS_USED_LOCK.
//
// If the server ends a connection (KILL, wait_timeout, shutdown, reset), the holder notices it within about 100 ms.
// The backend checks each connection at that interval, with the check that go-sql-driver makes before it uses an idle
// connection. The check needs the driver's parameter checkConnLiveness, which is on by default. On Windows and with
// other drivers there is no such check. The holder then notices the end of the connection at the next renewal. If the
// server or the network stops answering, the holder stops trusting each lease at the end of its TTL, less a margin.
//
// The options MinHold and HandoverDelay are refused, because both delay the next grant after a release, and a lock of
// GET_LOCK is free as soon as it is released.
//
// # Limits
//
//   - Failover: a new primary has none of the old primary's locks. The new primary can grant the same names
//     while holders on the old primary still trust their leases. The backend refuses to lock on a read-only server
//     (read_only). If a server becomes read-only, even briefly for maintenance, all its leases are lost at the next
//     renewal, because another server may already grant the same names. Tokens keep rising on the new primary: see
//     section "Tokens".
//     A resource that checks tokens (package fence) then rejects the old holder.
//   - Replicas, Galera, group replication with several primaries: a lock exists on one node only. The backend refuses
//     to lock on a read-only replica. The backend also refuses to lock on a node of a Galera cluster, or of a group
//     with several primaries, unless the option [SingleWriter] declares that all programs connect to the same node.
//   - Proxies that share a connection between clients (ProxySQL and RDS Proxy without session pinning) break
//     exclusion. The backend cannot detect them, so connect to the server directly. It refuses to lock on Vitess
//     and TiDB.
//   - Dead hosts: if a holder's host vanishes, its locks stay until the server closes the connection.
//     The shortest of three timeouts decides when that is: wait_timeout, net_read_timeout (during a statement),
//     and the system's TCP keep-alive (two hours by default). Set wait_timeout in the DSN to a few renewal intervals,
//     so that the server closes such a connection early.
//   - If a driver or proxy reconnects without an error, the lock is lost and the holder does not notice it
//     before the next renewal. database/sql never reconnects a borrowed connection.
//   - binlog_format=STATEMENT: a replica would not get the tokens. The backend refuses to lock on a server
//     with this setting, unless [NoToken] is set.
//
// # Tokens
//
// The statement that acquires a lock also makes its token, from the counter UUID_SHORT in the memory of the server. It
// takes the number after the lock was granted. So a grant writes nothing that it would have to wait for.
//
// The table rowlock_lease_mint has one row, which turns numbers into tokens. A run of the server, from its start to its
// end, writes the row before its first token. Its tokens begin above all tokens that earlier runs have reserved, and above
// the clock. The run then reserves tokens, 65536 at a time. So tokens rise over a restart, also if the clock was set back.
// They rise over a failover if the row was replicated. If the row was lost, or comes from a backup, tokens rise if the
// clocks agree and the server was started after the loss.
//
// A run is known by the server, by the second of its start, and by its numbers. Before its first token, a run takes 131072
// numbers. So a run that starts in the same second as an earlier one is known by its smaller numbers, unless other
// programs take that many before the first grant of this package.
//
// The table rowlock_lease_counter describes the last grant of each name, for people. The grant writes the row before it
// returns, and waits for it for a second at most. If the same holder acquires a name again on the same connection within
// 50 ms of its release, the grant writes no row. Until its first renewal, other processes then see the connection that
// holds the lock, but not the holder, the note and the token. A pool of one connection writes no rows.
//
// Package migrations creates both tables. The user needs these privileges:
//
//	GRANT SELECT, UPDATE ON app.rowlock_lease_mint TO app;
//	GRANT SELECT, INSERT, UPDATE ON app.rowlock_lease_counter TO app;
//
// Prune also needs DELETE on the table rowlock_lease_counter. Inspect needs PROCESS to show which client holds a lock
// whose grant is not described. ForceRelease of another user's lock needs CONNECTION_ADMIN (or SUPER).
//
// # Waiting
//
// A waiter waits in the server's queue, on a connection that holds no lock. One wait lasts for five sixths of the TTL, and
// for 25 seconds at most. If the DSN has a readTimeout, it lasts for five sixths of that at most. The waiter then asks the
// server who holds the lock, and waits again. When the lock is released, the server grants it to a waiter at once, but in
// no guaranteed order.
//
// If a wait is cancelled or the waiter's process dies, its connection is closed. The server notices that within a second.
// If it grants the lock to the closed connection before, the lock is free again within milliseconds. If the waiter's
// process is suspended or its host vanishes, the server may grant it the lock until the wait ends. Such a lock is then
// free when the lock of a holder in the same state would be free.
//
// If the backend has only one connection, a waiter uses it until another request needs it. That request ends the wait, and
// the waiter polls about once a second while the connection holds locks. If the pool has only one connection, waiters
// always poll.
//
// # Names
//
// The server's lock names are hashes of the schema, the namespace and the name (see [LockName]). MySQL itself ignores
// the case of lock names and limits them to 64 characters, and MariaDB has other rules. Because of the hashes, all
// names work the same on both servers. The locks of two schemas of one server are independent.
package mysqlock
