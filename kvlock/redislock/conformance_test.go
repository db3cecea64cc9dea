package redislock_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
	"github.com/rowlock/rowlock/locktest"
)

// Redis passes the conformance suite, in which clients die, are cut off, and lose replies.
func TestConformance(t *testing.T) {
	t.Parallel()
	locktest.Run(t, func(tb testing.TB) locktest.Harness {
		url, prefix := testenv.Redis(tb)
		return single(tb, url, prefix, true)
	})
}

// Valkey, a Cluster, and Redis without the client option ContextTimeoutEnabled pass the conformance suite, too.
func TestCompatConformance(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(testing.TB) *network{
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
			testenv.Compat(t)
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
