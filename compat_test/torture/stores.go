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

// inTurn is by how many a waiter may be overtaken where requests are served in their order: those that were on their way when its own was.
const inTurn = 16

// A server that is killed must lose nothing that it acknowledged: what it wrote is in the system's memory, and that
// is not lost. MySQL would keep it in its own for a second.
var mysqlArgs = []string{"--innodb-flush-log-at-trx-commit=2"}

// rows is what is expected of a lease row.
func rows(claims string) history.Expect {
	return history.Expect{Claims: claims, Tokens: linearizable, Audited: true, Pruned: true, Crash: crashBound}
}

// unaudited is what is expected of a lease row where nothing can be written down: what a failover loses is lost there, too.
func unaudited(e history.Expect) history.Expect {
	e.Audited = false
	return e
}

// stores are all that can be tortured.
//
// A lock of a session ends with it, at the server's side first: that it may have a second holder before the first one
// knows is its declared weakness, and the tokens' business. A Redis that keeps nothing on the disk forgets all when it
// is killed, and its clock decides; a Redlock must bear the loss of one of its nodes. No store may ever commit a stale
// write.
var stores = []store{
	{
		name: "postgres", servers: []server{{engine: testserver.Postgres}}, open: openPostgres,
		expect: rows("sqllock/postgres"), network: true, crash: true, stop: true, shutdown: true,
	},
	{
		name: "pgx", servers: []server{{engine: testserver.Postgres}}, open: openPgx,
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
		expect:  history.Expect{Claims: "redislock", Tokens: bestEffort, Overlap: []string{serverKill, clockForward, clockBack}, Regress: []string{serverKill}, Crash: crashBound},
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
	// What follows is of several nodes, or on a small disk. A synchronous standby has every acknowledged commit. An asynchronous one
	// may lose grants in a failover: no name is granted until the leases that may have been lost have expired.
	{
		name: "postgres-sync", cluster: func(ctx context.Context, _ string) (cluster, error) { return postgresPair(ctx, true) }, open: openPgx, settle: makeLocks,
		expect: rows("sqllock/postgres"), network: true, own: []string{failover, failover},
	},
	{
		name: "postgres-async", cluster: func(ctx context.Context, _ string) (cluster, error) { return postgresPair(ctx, false) }, open: openApart, settle: makeLocks,
		expect: unaudited(rows("sqllock/postgres")), network: true, own: []string{failover, lossy, lossy},
	},
	{
		name: "postgres-disk", cluster: func(ctx context.Context, _ string) (cluster, error) { return postgresOnDisk(ctx) }, open: openPgx,
		expect: rows("sqllock/postgres"), network: true, own: []string{diskFull, diskFull, diskFull},
	},
	{
		name: "sqlite-disk", cluster: func(_ context.Context, folder string) (cluster, error) { return sqliteOnDisk(folder) }, place: "disk", open: openSQLite,
		expect: rows("sqllock/sqlite"), own: []string{diskFull, diskFull},
	},
	{
		name: "redis-replica", cluster: func(ctx context.Context, _ string) (cluster, error) { return redisPair(ctx) }, open: openRedis,
		expect:  history.Expect{Claims: "redislock", Tokens: bestEffort, Overlap: []string{failover, lossy}, Crash: crashBound},
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
