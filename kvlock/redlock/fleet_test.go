package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redlock"
	"github.com/rowlock/rowlock/locktest"
)

// record is the key of a node's record.
const record = redlock.DefaultPrefix + "node"

// fleet is the harness for a set of independent servers. Each client connects to each server through a proxy of its
// own.
type fleet struct {
	servers []*testserver.Server
	raw     []*redis.Client
	opts    []redlock.Option

	mu      sync.Mutex
	clients map[driver.Backend]*fleetClient
}

type fleetClient struct {
	redlock *redlock.Backend
	proxies []*faultproxy.Proxy
	nodes   []*redis.Client
}

var (
	_ locktest.Closer       = (*fleet)(nil)
	_ locktest.Expirer      = (*fleet)(nil)
	_ locktest.Crasher      = (*fleet)(nil)
	_ locktest.Partitioner  = (*fleet)(nil)
	_ locktest.ReplyDropper = (*fleet)(nil)
)

func TestMain(m *testing.M) {
	redistest.Silence()
	leaks.Main(redistest.Stopping{M: m})
}

// newFleet returns a fleet of empty servers that vote at once, as if they had been running for a long time. In tests
// of "make compat" the last server is a Valkey server, and all others are Redis servers.
func newFleet(tb testing.TB, size int, opts ...redlock.Option) *fleet {
	tb.Helper()
	f := &fleet{opts: opts, clients: make(map[driver.Backend]*fleetClient)}
	for i := range size {
		start := func() *testserver.Server { return redistest.Start(tb) }
		if strings.HasPrefix(tb.Name(), "TestCompat") && i == size-1 {
			start = func() *testserver.Server { return redistest.StartValkey(tb) }
		}
		f.servers = append(f.servers, start())
		f.raw = append(f.raw, redistest.Connect(tb, f.servers[i].Addr))
		require.NoError(tb, giveVote(context.Background(), f.raw[i]))
	}
	tb.Cleanup(func() {
		for b := range f.clients {
			require.NoError(tb, f.Close(b))
		}
	})
	return f
}

// runID returns the run id of a server.
func runID(ctx context.Context, c *redis.Client) (string, error) {
	text, err := c.Info(ctx, "server").Result()
	for line := range strings.Lines(text) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "run_id:"); ok {
			return id, nil
		}
	}
	return "", fmt.Errorf("no run_id: %w", err)
}

// giveVote lets a node vote without a quarantine.
func giveVote(ctx context.Context, c *redis.Client) error {
	id, err := runID(ctx, c)
	if err != nil {
		return err
	}
	return c.HSet(ctx, record, "run_id", id, "since", 0, "admitted", 1, "top", 0, "floor", 0).Err()
}

// age ends the quarantine of a node.
func (f *fleet) age(tb testing.TB, i int) {
	tb.Helper()
	require.NoError(tb, f.raw[i].HSet(context.Background(), record, "since", 0).Err())
}

func (f *fleet) Open(context.Context) (driver.Backend, error) {
	b, err := f.open(f.opts...)
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (f *fleet) open(opts ...redlock.Option) (*redlock.Backend, error) {
	c := new(fleetClient)
	for _, s := range f.servers {
		p, err := faultproxy.New(s.Addr)
		if err != nil {
			return nil, err
		}
		c.proxies = append(c.proxies, p)
		c.nodes = append(c.nodes, redis.NewClient(&redis.Options{Addr: p.Addr(), ContextTimeoutEnabled: true}))
	}
	c.redlock = redlock.New(c.nodes, opts...)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clients[c.redlock] = c
	return c.redlock, nil
}

// client opens a backend, and returns it with its proxies.
func (f *fleet) client(tb testing.TB, opts ...redlock.Option) (*redlock.Backend, []*faultproxy.Proxy) {
	tb.Helper()
	b, err := f.open(opts...)
	require.NoError(tb, err)
	require.NoError(tb, b.Capabilities().Invalid)
	return b, f.clients[b].proxies
}

func (f *fleet) Close(b driver.Backend) error {
	f.mu.Lock()
	c := f.clients[b]
	delete(f.clients, b)
	f.mu.Unlock()
	if c == nil {
		return fmt.Errorf("%v is not a client of this harness", b)
	}
	for _, p := range c.proxies {
		p.Close()
	}
	errs := []error{c.redlock.Close()}
	for _, n := range c.nodes {
		errs = append(errs, n.Close())
	}
	return errors.Join(errs...)
}

// Exempt implements [locktest.Exempter].
func (f *fleet) Exempt() map[string]string {
	return map[string]string{"inspector-counts-waiters": "an inspection does not read the waiters, which each node keeps in a key of their own"}
}

func (f *fleet) each(b driver.Backend, do func(*faultproxy.Proxy)) error {
	f.mu.Lock()
	c := f.clients[b]
	f.mu.Unlock()
	if c == nil {
		return fmt.Errorf("%v is not a client of this harness", b)
	}
	for _, p := range c.proxies {
		do(p)
	}
	return nil
}

func (f *fleet) Crash(b driver.Backend) error   { return f.each(b, (*faultproxy.Proxy).Close) }
func (f *fleet) Cut(b driver.Backend) error     { return f.each(b, (*faultproxy.Proxy).Cut) }
func (f *fleet) Restore(b driver.Backend) error { return f.each(b, (*faultproxy.Proxy).Restore) }

// Requests counts what a client sends to the node that gets most. A request to the store is one to each node.
func (f *fleet) Requests(b driver.Backend) (sent int, err error) {
	err = f.each(b, func(p *faultproxy.Proxy) { sent = max(sent, p.Requests()) })
	return sent, err
}

// DropReply drops the next reply of every node. It first waits for background requests, because otherwise their replies
// would be dropped.
func (f *fleet) DropReply(b driver.Backend) error {
	b.(*redlock.Backend).Settle()
	return f.each(b, func(p *faultproxy.Proxy) { p.DropReplies(1, faultproxy.Hang) })
}

// Expire waits until all nodes have the same lease, and then moves its end into the past at every node.
func (f *fleet) Expire(ctx context.Context, key driver.Key) error {
	name := redlock.DefaultPrefix + ":" + key.Name
	for end := time.Now().Add(patience); !f.agree(ctx, name) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	errs := make([]error, 0, len(f.raw))
	for _, server := range f.raw {
		errs = append(errs, redistest.Age(ctx, server, name))
	}
	return errors.Join(errs...)
}

// agree reports whether all nodes have the same lease with the same confirmed token.
func (f *fleet) agree(ctx context.Context, name string) bool {
	return !slices.ContainsFunc(f.raw, func(c *redis.Client) bool {
		return !slices.Equal(c.HMGet(ctx, name, "nonce", "confirmed").Val(), f.raw[0].HMGet(ctx, name, "nonce", "confirmed").Val())
	})
}

// steadily is the option that tests use if they do not examine time. Each node has enough time to answer on a loaded
// machine.
var steadily = redlock.NodeTimeout(5 * time.Second)

// forLong permits TTLs that are longer than the default of MaxTTL.
var forLong = redlock.MaxTTL(10 * time.Minute)
