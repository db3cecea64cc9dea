// Package redislock keeps locks in Redis 7 or newer, Valkey, or a Redis Cluster.
//
//	locker, err := rowlock.New(redislock.New(client))
//
// A lock is one hash: token, nonce, holder, note, and the times at which it was granted, expires, and is free. Each
// operation is one script and one request, and uses the server's clock. Renewals are batched: a hundred in one run of
// the script, on a Cluster a hundred of the same slot. A release notifies the process that has waited longest, by
// pub/sub, and reserves the lock for it briefly.
//
// A token is the larger of the last token plus one and the server's clock in microseconds. So tokens rise through
// release, expiry, FLUSHALL, a restart without data, and a failover that lost the last grants. The condition is that
// the new server's clock is not behind the old one's by more than the failover took. This is what BestEffortToken means
// here.
//
// A released lock is deleted after five minutes, so names that are used once do not fill the server. One key besides
// the locks keeps the largest token of deleted locks, and a new name gets a larger one.
//
// # Limits
//
// One Redis server excludes other holders while it keeps its data. A restart that loses data, FLUSHALL, and a failover
// to a replica that lacks the last grants each admit a second holder while the first still trusts its lease.
// [Replicated] makes this less likely, but not impossible. A Cluster has the same limits for each slot. So protect your
// data: [Guard] rejects a stale token in Redis itself, package fence in a SQL database.
//
// The clock of one lock never goes back. If the server's clock was set back, the lock of a crashed holder stays held
// for that much longer. A forced release frees it. If the clock is set forward, leases end early.
//
// # The client
//
// Set ContextTimeoutEnabled in the options of a *redis.Client. Requests then need no goroutine of their own, which
// makes acquire and release about a third faster. The price: if the server hangs during a request, the request ends at
// its own limit after some seconds, even if its ctx is cancelled earlier. Without the option, and on a Cluster,
// requests always end with their ctx.
//
// # The server
//
// The first call runs INFO. It refuses a replica, a server older than 7.0, and a maxmemory-policy other than noeviction
// (but see [AllowEviction]). A fact that a managed service hides is not a reason to refuse. Weak persistence, and
// replicas that no grant waits for, become warnings of the [driver.Capabilities]. When the server's memory is full it
// grants no new locks, but held locks can be renewed and released.
//
// An account needs EVAL and EVALSHA, INFO, SCAN to list and prune, SUBSCRIBE to wait, the commands of the scripts, and
// the keys and channels of the prefix. docs/redis.md has the ACL line, and says what to set on a server and why.
//
// # Redlock
//
// Package redlock keeps locks in a majority of independent servers, for locks that must be available while one server
// is down. It is not safer than one server. docs/redlock.md says when it is worth it. If it protects rows of a SQL
// database, also protect them by fence.Claim.
package redislock
