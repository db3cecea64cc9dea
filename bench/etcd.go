package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// etcdCluster is one node or several.
type etcdCluster struct {
	name      string
	endpoints []string
}

// etcdTables measures on the server of the environment, and on three nodes that are started for it.
func etcdTables(ctx context.Context, p plan) error {
	url := os.Getenv("ROWLOCK_TEST_ETCD")
	if url == "" {
		return nil
	}
	nodes, err := testserver.StartEtcdCluster(ctx, 3, testserver.Options{Durable: true})
	if err != nil {
		return err
	}
	defer nodes.Stop()
	three := etcdCluster{name: "etcd, three nodes"}
	for _, n := range nodes.Nodes {
		three.endpoints = append(three.endpoints, n.DSN)
	}
	for _, c := range []etcdCluster{{"etcd, one node", []string{url}}, three} {
		if err := c.cycles(ctx, p.short); err != nil {
			return err
		}
		if err := c.handOvers(ctx, p.handOver, p.waiters); err != nil {
			return err
		}
	}
	return nil
}

func (c etcdCluster) open() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: c.endpoints, Logger: zap.NewNop(), DialKeepAliveTime: 10 * time.Second})
}

// cycles is acquire and release of a free name, beside the two commits that they are at least.
func (c etcdCluster) cycles(ctx context.Context, p runs) error {
	client, err := c.open()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	rowlock, err := ours("rowlock", etcdlock.New(client))
	if err != nil {
		return err
	}
	session, err := concurrency.NewSession(client)
	if err != nil {
		return err
	}
	mutex := concurrency.NewMutex(session, "bench mutex")
	return p.contest(ctx, contest{store: c.name, count: c.commits, counted: "commits", contenders: []contender{
		{name: "two bare commits: put and delete", cycle: func(ctx context.Context) error {
			if _, err := client.Put(ctx, "bench bare", driver.NewNonce().String()); err != nil {
				return err
			}
			_, err := client.Delete(ctx, "bench bare")
			return err
		}},
		rowlock,
		{name: "concurrency.Mutex", close: func() { _ = session.Close() }, cycle: func(ctx context.Context) error {
			if err := mutex.Lock(ctx); err != nil {
				return err
			}
			return mutex.Unlock(ctx)
		}},
	}})
}

// handOvers is hand-over to one of few and of many waiters.
func (c etcdCluster) handOvers(ctx context.Context, p runs, waiters []int) error {
	open := func() (driver.Backend, func(), error) {
		client, err := c.open()
		if err != nil {
			return nil, nil, err
		}
		return etcdlock.New(client), func() { _ = client.Close() }, nil
	}
	all := []crowd{
		ourCrowd(fmt.Sprintf("rowlock, %d lockers", clients), clients, open),
		ourCrowd("rowlock, one locker", 1, open),
		{"concurrency.Mutex, a session each", c.mutexes},
	}
	for _, n := range waiters {
		if n > 100 {
			continue // a mutex needs a session for each, and so many take the cluster's time
		}
		if err := p.crowds(ctx, c.name, n, all, c.commits, "commits for each"); err != nil {
			return err
		}
	}
	return nil
}

// mutexes has a session for each member: those of one session do not exclude each other.
func (c etcdCluster) mutexes(_ context.Context, members int) (all []acquirer, leave func(), err error) {
	var open []*clientv3.Client
	var sessions []*concurrency.Session
	leave = func() {
		for _, s := range sessions {
			_ = s.Close()
		}
		for _, c := range open {
			_ = c.Close()
		}
	}
	for i := range clients {
		client, err := c.open()
		if err != nil {
			leave()
			return nil, nil, err
		}
		open = append(open, client)
		for range share(members, clients, i) {
			session, err := concurrency.NewSession(client)
			if err != nil {
				leave()
				return nil, nil, err
			}
			sessions = append(sessions, session)
			mutex := concurrency.NewMutex(session, "crowd mutex")
			all = append(all, func(ctx context.Context) (func(context.Context) error, error) { return mutex.Unlock, mutex.Lock(ctx) })
		}
	}
	return all, leave, nil
}

var committed = regexp.MustCompile(`(?m)^etcd_server_proposals_committed_total (\S+)`)

// commits counts those of the cluster, which each of its nodes knows.
func (c etcdCluster) commits(ctx context.Context) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.endpoints[0]+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return 0, err
	}
	found := committed.FindSubmatch(text)
	if found == nil {
		return 0, errors.New("the server does not tell of its commits")
	}
	return strconv.ParseFloat(string(found[1]), 64)
}
