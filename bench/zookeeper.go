package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/zklock"
)

const zooKeeperSession = 10 * time.Second

// zooKeeper is one server or an ensemble.
type zooKeeper struct {
	name    string
	servers []string
}

// zooKeeperTables measures on the server of the environment, and on three that are started for it.
func zooKeeperTables(ctx context.Context, p plan) error {
	server := os.Getenv("ROWLOCK_TEST_ZOOKEEPER")
	if server == "" {
		return nil
	}
	ensemble, err := testserver.StartZooKeeperEnsemble(ctx, 3, testserver.Options{Durable: true})
	if err != nil {
		return err
	}
	defer ensemble.Stop()
	three := zooKeeper{name: "ZooKeeper, three servers"}
	for _, n := range ensemble.Nodes {
		three.servers = append(three.servers, n.DSN)
	}
	for _, z := range []zooKeeper{{"ZooKeeper, one server", []string{server}}, three} {
		if err := z.cycles(ctx, p.short); err != nil {
			return err
		}
		if err := z.handOvers(ctx, p.handOver, p.waiters); err != nil {
			return err
		}
	}
	return nil
}

// open connects, and returns once there is a session.
func (z zooKeeper) open(ctx context.Context) (*zk.Conn, error) {
	conn, events, err := zk.Connect(z.servers, zooKeeperSession, zk.WithLogInfo(false), zk.WithLogger(silent{}))
	if err != nil {
		return nil, err
	}
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return conn, nil
			}
		case <-ctx.Done():
			conn.Close()
			return nil, ctx.Err()
		}
	}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

var anybody = zk.WorldACL(zk.PermAll)

// cycles is acquire and release of a free name, beside the two commits that they are at least.
func (z zooKeeper) cycles(ctx context.Context, p runs) error {
	conn, err := z.open(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Create("/bench", nil, 0, anybody); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return err
	}
	backend := zklock.New(z.servers)
	rowlock, err := ours("rowlock", backend)
	if err != nil {
		return err
	}
	defer backend.Close()
	lock := zk.NewLock(conn, "/bench-lock", anybody)
	return p.contest(ctx, contest{store: z.name, count: z.commits, counted: "commits", contenders: []contender{
		{name: "two bare commits: create and delete", cycle: func(context.Context) error {
			path, err := conn.Create("/bench/bare-", []byte(driver.NewNonce().String()), zk.FlagEphemeral|zk.FlagSequence, anybody)
			if err != nil {
				return err
			}
			return conn.Delete(path, -1)
		}},
		rowlock,
		{name: "go-zookeeper's Lock", cycle: func(context.Context) error {
			if err := lock.Lock(); err != nil {
				return err
			}
			return lock.Unlock()
		}},
	}})
}

// handOvers is hand-over to one of few and of many waiters.
func (z zooKeeper) handOvers(ctx context.Context, p runs, waiters []int) error {
	open := func() (driver.Backend, func(), error) {
		backend := zklock.New(z.servers)
		return backend, backend.Close, nil
	}
	all := []crowd{
		ourCrowd(fmt.Sprintf("rowlock, %d lockers", clients), clients, open),
		ourCrowd("rowlock, one locker", 1, open),
		{"go-zookeeper's Lock", z.locks},
	}
	for _, n := range waiters {
		if n > 100 {
			continue // a Lock knows no ctx, so that at the end each waiter has it in turn
		}
		if err := p.crowds(ctx, z.name, n, all, z.commits, "commits for each"); err != nil {
			return err
		}
	}
	return nil
}

// locks knows no ctx: at the end each waiter has the lock once more.
func (z zooKeeper) locks(ctx context.Context, members int) (all []acquirer, leave func(), err error) {
	var open []*zk.Conn
	leave = func() {
		for _, c := range open {
			c.Close()
		}
	}
	for i := range clients {
		conn, err := z.open(ctx)
		if err != nil {
			leave()
			return nil, nil, err
		}
		open = append(open, conn)
		for range share(members, clients, i) {
			lock := zk.NewLock(conn, "/crowd-lock", anybody)
			all = append(all, func(context.Context) (func(context.Context) error, error) {
				return func(context.Context) error { return lock.Unlock() }, lock.Lock()
			})
		}
	}
	return all, leave, nil
}

var zxid = regexp.MustCompile(`(?m)^Zxid: 0x([0-9a-f]+)$`)

// commits counts transactions, which the servers number.
func (z zooKeeper) commits(ctx context.Context) (float64, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", z.servers[0])
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := conn.Write([]byte("srvr")); err != nil {
		return 0, err
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		return 0, err
	}
	found := zxid.FindSubmatch(text)
	if found == nil {
		return 0, errors.New("the server does not tell the number of its last transaction")
	}
	n, err := strconv.ParseUint(string(found[1]), 16, 64)
	return float64(n & math.MaxUint32), err // the upper half is the number of the leader's term
}
