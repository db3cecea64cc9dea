// Package redislock keeps locks in Redis 7 or newer, Valkey, or a Redis Cluster.
//
//	locker, err := rowlock.New(redislock.New(client))
//
// A lock is one hash: token, nonce, holder, note, and when it was granted, expires and can be had again. Each
// step is one script and one request; time is the server's. Renewals travel together, a hundred in a
// run of the script, on a Cluster a hundred of one slot. A release calls the
// process that has waited longest, by pub/sub, and keeps the lock for it for a moment.
//
// A token is the larger of the last one plus one and the server's clock in microseconds, so it rises through release, expiry,
// FLUSHALL, a restart without data and a failover that lost the last grants, as long as the clock of the new server is
// not behind that of the old one by more than the failover took. That is what BestEffortToken means here.
//
// A released name is forgotten after five minutes, so names that are used once do not fill the server. One key beside the locks keeps
// the largest token of what was forgotten, and a name that is new gets a larger one.
//
// # What is not promised
//
// One Redis excludes for as long as it keeps its data. A restart that loses them, FLUSHALL, and a failover to a replica
// that had not got the last grants yet each let a second holder in while the first still trusts its lease.
// [Replicated] makes that less likely and not impossible; a Cluster is the same, slot by slot. So guard
// what a lock protects: [Guard] refuses a stale token in Redis itself, package fence in a SQL database.
//
// The clock of one lock never goes back. A server clock that was set back closes a name whose holder crashed for so
// much longer; a forced release opens it. A clock that is set forward ends leases early.
//
// # The client
//
// Set ContextTimeoutEnabled in the options of a *redis.Client: requests then need no goroutine of their own, which
// makes acquire and release about a third faster. The price is that a request to a server that hangs just then ends
// with its own limit, some seconds, and not when its ctx is cancelled before. Without the option, and on a
// Cluster, requests end with their ctx all the same.
//
// # The server
//
// The first call asks INFO, and refuses a replica, a server older than 7.0, and a maxmemory-policy other
// than noeviction: see [AllowEviction]. What a service does not tell is not held against it. Persistence that is
// weak, and replicas that no grant waits for, are warnings of the [driver.Capabilities] from then on. When the
// server's memory is full nothing new is granted; what is held is renewed and can be released.
//
// An account needs EVAL and EVALSHA, INFO, SCAN to list and prune, SUBSCRIBE to wait, the commands of the scripts, and keys
// and channels of the prefix. docs/redis.md has it as a line of ACL, and says what to set on a server and why.
//
// # Redlock
//
// Package redlock keeps locks in a majority of independent servers, for locks that must be had while one of them is
// gone. It is not safer than one of them, and its page says when it is worth it: docs/redlock.md. Rows of a SQL database that
// it guards are to be guarded by fence.Claim as well.
package redislock
