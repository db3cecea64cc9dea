package redislock_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
	"github.com/rowlock/rowlock/locktest"
)

// Redis, Valkey and a Cluster pass the conformance suite, in which clients die, are cut off, and lose replies. Redis
// passes it with and without the client option ContextTimeoutEnabled.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(testing.TB) *network{
		"redis": func(tb testing.TB) *network {
			url, prefix := testenv.Redis(tb)
			return single(tb, url, prefix, true)
		},
		"redis-deadlines-not-heeded": func(tb testing.TB) *network {
			url, prefix := testenv.Redis(tb)
			return single(tb, url, prefix, false)
		},
		"valkey": func(tb testing.TB) *network {
			url, prefix := testenv.Valkey(tb)
			return single(tb, url, prefix, true)
		},
		"cluster": func(tb testing.TB) *network {
			return newNetwork(tb, redislock.DefaultPrefix, cluster(tb), func(dial dialer) redis.UniversalClient {
				return redis.NewClusterClient(&redis.ClusterOptions{Dialer: dial, ContextTimeoutEnabled: true})
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			locktest.Run(t, func(tb testing.TB) locktest.Harness { return make(tb) })
		})
	}
}

func BenchmarkConformance(b *testing.B) {
	url, prefix := testenv.Redis(b)
	o, err := redis.ParseURL(url)
	require.NoError(b, err)
	locktest.Bench(b, func(tb testing.TB) locktest.Harness {
		return newNetwork(tb, prefix, nil, func(dialer) redis.UniversalClient { return redistest.Connect(tb, o.Addr) })
	})
}

func single(tb testing.TB, url, prefix string, heed bool) *network {
	o, err := redis.ParseURL(url)
	require.NoError(tb, err)
	return newNetwork(tb, prefix, []string{o.Addr}, func(dial dialer) redis.UniversalClient {
		mine := *o
		mine.Dialer, mine.ContextTimeoutEnabled = dial, heed
		return redis.NewClient(&mine)
	})
}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// network is the harness for one store. Each client connects to each server through a proxy of its own, which can make
// its network fail.
type network struct {
	prefix  string
	servers []string
	open    func(dialer) redis.UniversalClient
	raw     redis.UniversalClient

	*faultnet.Clients
}

var (
	_ locktest.Closer       = (*network)(nil)
	_ locktest.Expirer      = (*network)(nil)
	_ locktest.Crasher      = (*network)(nil)
	_ locktest.Partitioner  = (*network)(nil)
	_ locktest.ReplyDropper = (*network)(nil)
)

func newNetwork(tb testing.TB, prefix string, servers []string, open func(dialer) redis.UniversalClient) *network {
	n := &network{prefix: prefix, servers: servers}
	n.open = func(dial dialer) redis.UniversalClient { return open(dial) }
	if len(servers) > 1 {
		n.open = func(dial dialer) redis.UniversalClient {
			return redis.NewClusterClient(&redis.ClusterOptions{Addrs: servers, Dialer: dial, ContextTimeoutEnabled: true})
		}
	}
	n.raw = n.open(new(net.Dialer).DialContext)
	tb.Cleanup(func() { _ = n.raw.Close() })
	n.Clients = faultnet.New(tb)
	return n
}

func (n *network) Open(context.Context) (driver.Backend, error) {
	proxies := make(map[string]*faultproxy.Proxy) // each map key is a server's address
	for _, addr := range n.servers {
		p, err := faultproxy.New(addr)
		if err != nil {
			return nil, err
		}
		proxies[addr] = p
	}
	c := n.open(func(ctx context.Context, network, addr string) (net.Conn, error) {
		p := proxies[addr]
		if p == nil {
			return nil, fmt.Errorf("%s is not a server of this harness", addr)
		}
		return new(net.Dialer).DialContext(ctx, network, p.Addr())
	})
	b := redislock.New(c, redislock.Prefix(n.prefix))
	n.Add(b, func() { _ = c.Close() }, slices.Collect(maps.Values(proxies))...)
	return b, nil
}

// Expire moves the end of the lock's lease into the past.
func (n *network) Expire(ctx context.Context, key driver.Key) error {
	return redistest.Age(ctx, n.raw, n.prefix+key.Namespace+":"+key.Name)
}
