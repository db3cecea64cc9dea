// Package redislock keeps locks in Redis 7 or newer, Valkey, or a Redis Cluster.
//
//	locker, err := rowlock.New(redislock.New(client))
//
// A lock is one hash: token, nonce, holder, note, and the times at which it was granted, expires, and is free. Each
// operation is one script and one request, and uses the server's clock. One run of the script renews up to a hundred
// leases. On a Cluster, these leases must be in the same slot. A release notifies the process that has waited longest,
// by pub/sub, and reserves the lock for that process for 50 ms.
//
// The readers of a lock (see rowlock.Shared) are in the same hash. Each reader has its own expiry, and all readers
// that hold the lock together have the same token. The lock is free after the last reader has released its share, or
// after that share has expired.
//
// A token is the larger of the last token plus one and the server's clock in microseconds. So tokens rise through
// release, expiry, FLUSHALL, a restart without data, and a failover that lost the last grants. After a failover, they
// rise only if the new server's clock is behind the old server's clock by less than the duration of the failover.
// After FLUSHALL or a restart without data, they rise only if the clock was not set back. That is why
// [driver.Capabilities] declares these tokens as BestEffortToken.
//
// A released lock is deleted after five minutes, so names that are used once do not fill the server. One additional key
// (on a Cluster, one for each slot) keeps the largest token of the deleted locks. The first token of a new name is
// larger. A lock with a tick (see rowlock.Once) is kept until it is pruned.
//
// # Limits
//
// One Redis server excludes other holders while it keeps its data. After FLUSHALL, a restart that loses data, or a
// failover to a replica that lacks the last grants, the server may grant a lock to a second holder. The first holder
// still trusts its lease then. [Replicated] makes this less likely, but not impossible. A Cluster has the same limits
// for each slot. So protect your data: [Guard] rejects stale tokens for data in Redis, and package fence for data in a
// SQL database.
//
// Each lock remembers the latest time that a script has seen, and scripts use no earlier time for that lock. If the
// server's clock is set back, the lock of a crashed holder stays held longer, by the time that the clock was set back.
// A forced release frees such a lock. If the clock is set forward, leases end early.
//
// # The client
//
// Set ContextTimeoutEnabled in the options of a *redis.Client. Requests then need no goroutine of their own, which
// makes acquire and release about a third faster. The disadvantage: if the server hangs during a request, a
// cancellation of ctx does not end the request. The request ends some seconds later, at its own timeout. Without the
// option, and on a Cluster, requests always end with their ctx.
//
// # The server
//
// The first call runs INFO. The backend refuses a replica, a server older than 7.0, and a maxmemory-policy other than
// noeviction (but see [AllowEviction]). If a managed service does not report one of these settings, the backend does
// not refuse the server because of that setting. The [driver.Capabilities] warn of weak persistence, and of replicas
// if grants do not wait for them. When the server's memory is full it grants no new locks, but held locks can be
// renewed and released.
//
// An account needs EVAL, EVALSHA, INFO, and the commands of the scripts. It needs SCAN to list and prune, and SUBSCRIBE
// to wait. It also needs access to the keys and channels of the prefix. docs/redis.md has the ACL line, and says what
// to set on a server and why.
//
// # Redlock
//
// Package redlock keeps locks in a majority of independent servers, for locks that must be available while one server
// is down. Such a lock is not safer than a lock on one server. docs/redlock.md says when to use package redlock. If
// such a lock protects rows of a SQL database, use fence.Claim too.
package redislock
