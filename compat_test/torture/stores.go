//go:build linux

package main

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/compat_test/torture/history"
	"github.com/rowlock/rowlock/internal/testserver"
)

const (
	linearizable = "linearizable"
	bestEffort   = "best effort"
)

// inTurn is how many later requests may overtake a waiter, in a store that serves requests in order. A request that was
// sent later may still arrive before the waiter's request.
const inTurn = 16

// A killed server must not lose any write that it acknowledged. With this setting, MySQL writes each commit to the operating
// system's memory, which survives the kill. Otherwise MySQL could keep a commit in its own memory for a second.
var mysqlArgs = []string{"--innodb-flush-log-at-trx-commit=2"}

// A fault ends hundreds of connections. By default, each new connection plans each statement five times before it uses a
// generic plan, and this was a third of the server's work. With this setting it plans each statement once.
var postgresArgs = []string{"-c", "plan_cache_mode=force_generic_plan"}

// rows returns the expectations for a lease row.
func rows(claims string) history.Expect {
	return history.Expect{Claims: claims, Tokens: linearizable, Audited: true, Pruned: true, Crash: crashBound}
}

// asynchronous returns the expectations for a lease row whose store may lose the last changes in a failover. A failover that loses
// changes would also lose the audit of these changes, so there is no audit.
func asynchronous(e history.Expect) history.Expect {
	e.Audited, e.Forget = false, []string{failover, lossy}
	return e
}

// stores lists the stores that the torture can test.
//
// A session lock ends with its session, and the server can end the session before the holder notices. So a session lock
// may have a second holder for a short time. This weakness is documented, and tokens protect against it. A Redis
// without persistence loses all locks when it is killed, and leases depend on its clock. A Redlock must withstand the
// loss of one of its nodes. No store may ever commit a stale write.
var stores = []store{
	{
		name: "postgres", servers: []server{{engine: testserver.Postgres, options: testserver.Options{Args: postgresArgs}}}, open: openPostgres,
		expect: rows("sqllock/postgres"), network: true, crash: true, stop: true, shutdown: true,
	},
	{
		name: "pgx", servers: []server{{engine: testserver.Postgres, options: testserver.Options{Args: postgresArgs}}}, open: openPgx,
		expect: rows("sqllock/postgres"), network: true, crash: true, stop: true, shutdown: true,
	},
	{
		name: "pgbouncer", servers: []server{{engine: testserver.Postgres, behind: true}, {engine: testserver.NewPgBouncer}}, open: openPgx,
		expect: rows("sqllock/postgres"), network: true, crash: true, stop: true, shutdown: true,
	},
	{
		name: "mysql", servers: []server{{engine: testserver.MySQL, options: testserver.Options{Args: mysqlArgs}}}, open: openMySQL,
		expect: rows("sqllock/mysql"), network: true, crash: true, stop: true, shutdown: true,
	},
	{
		name: "mariadb", servers: []server{{engine: testserver.MariaDB, options: testserver.Options{Args: mysqlArgs}}}, open: openMySQL,
		expect: rows("sqllock/mysql"), network: true, crash: true, stop: true, shutdown: true,
	},
	{
		name: "sqlite", open: openSQLite, expect: rows("sqllock/sqlite"),
	},
	{
		name: "advisory", servers: []server{{engine: testserver.Postgres}}, open: openAdvisory,
		expect:  history.Expect{Claims: "advisory/postgres", Tokens: linearizable, Told: true, Overlap: sessionEnd, Crash: crashBound},
		network: true, crash: true, stop: true, shutdown: true,
	},
	{
		name: "mysqlock", servers: []server{{engine: testserver.MariaDB, options: testserver.Options{Args: mysqlArgs}}}, open: openGetLock,
		expect:  history.Expect{Claims: "mysqlock", Tokens: linearizable, Told: true, Overlap: sessionEnd, Crash: crashBound},
		network: true, crash: true, stop: true, shutdown: true,
	},
	{
		name: "redis", servers: []server{{engine: testserver.Redis, options: testserver.Options{Clock: true}}}, open: openRedis,
		expect:  history.Expect{Claims: "redislock", Tokens: bestEffort, Overlap: []string{serverKill, clockForward, clockBack}, Regress: []string{serverKill}, Forget: []string{serverKill}, Crash: crashBound},
		network: true, crash: true, stop: true, clock: true,
	},
	{
		name: "redlock", servers: []server{{engine: testserver.Redis}, {engine: testserver.Redis}, {engine: testserver.Redis}}, open: openRedlock, settle: giveVotes,
		expect:  history.Expect{Claims: "redlock", Tokens: bestEffort, Minted: true, Crash: crashBound},
		network: true, crash: true, stop: true,
	},
	{
		name: "etcd", servers: []server{{engine: testserver.Etcd}}, open: openEtcd,
		expect:  history.Expect{Claims: "etcdlock", Tokens: linearizable, Overtaken: inTurn, Crash: 2*time.Second + crashBound},
		network: true, crash: true, stop: true,
	},
	{
		name: "zookeeper", servers: []server{{engine: testserver.ZooKeeper}}, open: openZooKeeper,
		expect:  history.Expect{Claims: "zklock", Tokens: linearizable, Overtaken: inTurn, Crash: 2*time.Second + crashBound},
		network: true, crash: true, stop: true,
	},
	// The following stores have several nodes, or a small disk. A synchronous standby has every acknowledged commit. An
	// asynchronous standby may lose grants in a failover. So after a failover no name is granted until every lease that
	// may have been lost has expired.
	{
		name: "postgres-sync", cluster: func(ctx context.Context, _ string) (cluster, error) { return postgresPair(ctx, true) }, open: openPgx, settle: makeLocks,
		expect: rows("sqllock/postgres"), network: true, own: []string{failover, failover},
	},
	{
		name: "postgres-async", cluster: func(ctx context.Context, _ string) (cluster, error) { return postgresPair(ctx, false) }, open: openApart, settle: makeLocks,
		expect: asynchronous(rows("sqllock/postgres")), network: true, own: []string{failover, lossy, lossy},
	},
	{
		name: "postgres-disk", cluster: func(ctx context.Context, _ string) (cluster, error) { return postgresOnDisk(ctx) }, open: openPgx,
		expect: rows("sqllock/postgres"), network: true, own: []string{diskFull, diskFull, diskFull},
	},
	{
		name: "sqlite-disk", cluster: func(_ context.Context, data string) (cluster, error) { return sqliteOnDisk(data) }, open: openSQLite,
		expect: rows("sqllock/sqlite"), own: []string{diskFull, diskFull},
	},
	{
		name: "redis-replica", cluster: func(ctx context.Context, _ string) (cluster, error) { return redisPair(ctx) }, open: openRedis,
		expect:  history.Expect{Claims: "redislock", Tokens: bestEffort, Overlap: []string{failover, lossy}, Forget: []string{failover, lossy}, Crash: crashBound},
		network: true, own: []string{failover, lossy, lossy},
	},
	{
		name: "etcd-cluster", cluster: func(ctx context.Context, _ string) (cluster, error) { return etcdQuorum(ctx) }, open: openEtcd,
		expect:  history.Expect{Claims: "etcdlock", Tokens: linearizable, Overtaken: inTurn, Crash: 2*time.Second + crashBound},
		network: true, own: []string{leaderKill, leaderStop, partition, partition},
	},
	{
		name: "zookeeper-ensemble", cluster: func(ctx context.Context, _ string) (cluster, error) { return zooKeeperQuorum(ctx) }, open: openZooKeeper,
		expect:  history.Expect{Claims: "zklock", Tokens: linearizable, Overtaken: inTurn, Crash: 2*time.Second + crashBound},
		network: true, own: []string{leaderKill, leaderStop, partition, partition},
	},
}
