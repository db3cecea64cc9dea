package etcdlock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
	"github.com/rowlock/rowlock/locktest"
)

// reconnecting replaces gRPC's delays between attempts to connect, which grow from one second to two minutes.
var reconnecting = backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 200 * time.Millisecond}

// config returns a client configuration that logs nothing, reconnects quickly, and detects dead connections.
func config(endpoints ...string) clientv3.Config {
	return clientv3.Config{
		Endpoints: endpoints, Logger: zap.NewNop(),
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: time.Second,
		BackoffWaitBetween: 20 * time.Millisecond,
		DialOptions:        []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnecting, MinConnectTimeout: 20 * time.Second})},
	}
}

func connect(tb testing.TB, endpoints ...string) *clientv3.Client {
	tb.Helper()
	client, err := clientv3.New(config(endpoints...))
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// inQueue waits in the queue until the name is granted or ctx ends.
func inQueue(b *etcdlock.Backend, ctx context.Context, r driver.Request) (driver.Grant, error) { //nolint:revive // b comes first, as in the methods of b
	return b.Await(ctx, r, func(*driver.Held) context.Context { return ctx })
}

func server(tb testing.TB) string {
	tb.Helper()
	return testenv.DSN(tb, testenv.EngineEtcd)
}

// prefix returns a prefix that only this test uses.
func prefix() etcdlock.Option { return etcdlock.Prefix("test-" + driver.NewNonce().String()) }

// network is the harness for one server or cluster. Each client connects through a proxy of its own, which can make its
// network fail.
type network struct {
	tb        testing.TB
	endpoints []string
	prefix    etcdlock.Option
	direct    *clientv3.Client
	watching  *etcdlock.Backend // uses the client direct, without a proxy, so the tests never cut it off

	*faultnet.Clients
}

var (
	_ locktest.Closer       = (*network)(nil)
	_ locktest.Expirer      = (*network)(nil)
	_ locktest.Crasher      = (*network)(nil)
	_ locktest.Partitioner  = (*network)(nil)
	_ locktest.ReplyDropper = (*network)(nil)
)

func newNetwork(tb testing.TB, endpoints ...string) *network {
	tb.Helper()
	n := &network{tb: tb, endpoints: endpoints, prefix: prefix(), direct: connect(tb, endpoints...), Clients: faultnet.New(tb)}
	n.watching = etcdlock.New(n.direct, n.prefix)
	// Reset the connection after a dropped reply. If it stayed open and silent, the client's keep-alive would need at
	// least ten seconds to notice.
	n.AfterDrop = faultproxy.Reset
	return n
}

func (n *network) Open(context.Context) (driver.Backend, error) { return n.open() }

func (n *network) open() (*etcdlock.Backend, error) {
	var proxies []*faultproxy.Proxy
	var through []string
	for _, endpoint := range n.endpoints {
		proxy, err := faultproxy.New(strings.TrimPrefix(endpoint, "http://"))
		if err != nil {
			return nil, err
		}
		proxies = append(proxies, proxy)
		through = append(through, "http://"+proxy.Addr())
	}
	client, err := clientv3.New(config(through...))
	if err != nil {
		return nil, err
	}
	b := etcdlock.New(client, n.prefix)
	n.Add(b, func() { assert.NoError(n.tb, client.Close()) }, proxies...)
	return b, nil
}

// Expire ends the session of the process that holds key.
func (n *network) Expire(ctx context.Context, key driver.Key) error {
	lease, err := n.leaseOf(ctx, key)
	if err == nil {
		_, err = n.direct.Revoke(ctx, lease)
	}
	return err
}

// leaseOf returns the etcd lease of the process that holds key.
func (n *network) leaseOf(ctx context.Context, key driver.Key) (clientv3.LeaseID, error) {
	reply, err := n.direct.Get(ctx, n.watching.Queue(key), clientv3.WithFirstCreate()...)
	if err != nil {
		return 0, err
	}
	if len(reply.Kvs) == 0 {
		return 0, fmt.Errorf("%q is not held", key)
	}
	return clientv3.LeaseID(reply.Kvs[0].Lease), nil
}
