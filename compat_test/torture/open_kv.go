//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/rowlock/rowlock/kvlock/etcdlock"
	"github.com/rowlock/rowlock/kvlock/redislock"
	"github.com/rowlock/rowlock/kvlock/redlock"
	"github.com/rowlock/rowlock/kvlock/zklock"
)

// If the store is not a database, the data are in a SQLite file, behind its fence.

func connectRedis(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, DialTimeout: 3 * time.Second})
}

func openRedis(j job) (*client, error) {
	c, db, err := newClient(sqliteData, sqliteDSN(j.Data))
	if err != nil {
		return nil, err
	}
	server := connectRedis(j.Nodes[0])
	c.then(func() { _ = server.Close() })
	c.backend = redislock.New(server)
	return c.guarded(db), nil
}

// openRedlock opens a Redlock store. Its data are in a SQLite file. The fence of this file issues tokens of its own
// (fence.Guard.Claim), because the tokens of a Redlock are not reliable.
func openRedlock(j job) (*client, error) {
	c, db, err := newClient(sqliteData, sqliteDSN(j.Data))
	if err != nil {
		return nil, err
	}
	var nodes []*redis.Client
	for _, addr := range j.Nodes {
		node := connectRedis(addr)
		c.then(func() { _ = node.Close() })
		nodes = append(nodes, node)
	}
	locks := redlock.New(nodes, redlock.MaxTTL(j.TTL), redlock.NodeTimeout(j.TTL/5)) // long enough for a loaded machine
	c.then(func() { _ = locks.Close() })
	c.backend = locks
	return c.claimed(db), nil
}

// giveVotes lets the new nodes of a Redlock grant locks at once. Normally a new node waits,
// because it may have lost locks in a crash.
func giveVotes(ctx context.Context, addrs []string) error {
	for _, addr := range addrs {
		node := connectRedis(addr)
		defer node.Close() //nolint:errcheck // the client is no longer needed
		text, err := node.Info(ctx, "server").Result()
		if err != nil {
			return err
		}
		id := ""
		for line := range strings.Lines(text) {
			if found, ok := strings.CutPrefix(strings.TrimSpace(line), "run_id:"); ok {
				id = found
			}
		}
		if id == "" {
			return fmt.Errorf("%s reports no run_id", addr)
		}
		record := redlock.DefaultPrefix + "node"
		if err := node.HSet(ctx, record, "run_id", id, "since", 0, "admitted", 1, "top", 0, "floor", 0).Err(); err != nil {
			return err
		}
	}
	return nil
}

func openEtcd(j job) (*client, error) {
	c, db, err := newClient(sqliteData, sqliteDSN(j.Data))
	if err != nil {
		return nil, err
	}
	var urls []string
	for _, addr := range j.Nodes {
		urls = append(urls, "http://"+addr)
	}
	cluster, err := clientv3.New(clientv3.Config{Endpoints: urls, Logger: zap.NewNop(), DialKeepAliveTime: 10 * time.Second, DialTimeout: 3 * time.Second})
	if err != nil {
		return nil, err
	}
	c.then(func() { _ = cluster.Close() })
	c.backend = etcdlock.New(cluster)
	return c.guarded(db), nil
}

func openZooKeeper(j job) (*client, error) {
	c, db, err := newClient(sqliteData, sqliteDSN(j.Data))
	if err != nil {
		return nil, err
	}
	locks := zklock.New(j.Nodes)
	c.then(locks.Close)
	c.backend = locks
	return c.guarded(db), nil
}
