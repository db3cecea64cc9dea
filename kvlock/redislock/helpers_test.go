package redislock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
	"github.com/rowlock/rowlock/locktest"
	"github.com/rowlock/rowlock/migrations"
)

func TestMain(m *testing.M) {
	redistest.Silence()
	leaks.Main(redistest.Stopping{M: m})
}

// cluster starts three primaries that share the slots, and returns their addresses.
func cluster(tb testing.TB) []string {
	tb.Helper()
	ctx := context.Background()
	addrs := make([]string, 3)
	nodes := make([]*redis.Client, 3)
	for i := range addrs {
		addrs[i] = redistest.Start(tb, "--cluster-enabled", "yes", "--cluster-node-timeout", "30000").Addr
		nodes[i] = redistest.Connect(tb, addrs[i])
		require.NoError(tb, nodes[i].ClusterAddSlotsRange(ctx, i*16384/3, (i+1)*16384/3-1).Err())
		require.NoError(tb, nodes[i].Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err())
	}
	for _, addr := range addrs[1:] {
		host, port, err := net.SplitHostPort(addr)
		require.NoError(tb, err)
		require.NoError(tb, nodes[0].ClusterMeet(ctx, host, port).Err())
	}
	for _, node := range nodes {
		require.Eventually(tb, func() bool {
			facts, err := node.ClusterInfo(ctx).Result()
			known, err2 := node.ClusterShards(ctx).Result()
			return err == nil && err2 == nil && len(known) == 3 && len(facts) > 0 && facts[:16] == "cluster_state:ok"
		}, 30*time.Second, 20*time.Millisecond)
	}
	return addrs
}

// awaitReplica waits until the primary streams its writes to a replica. It repeats a write and a WAIT until WAIT has
// counted the replica twice. The first count does not prove that the primary streams: the replica may have received
// that write in its snapshot. The replica may then acknowledge the write before the primary has noticed that its child
// process for the snapshot has ended. In this case the primary starts to stream at the next acknowledgement, up to a
// second later. So if WAIT counts the replica for a second write, the primary streams. From then on WAIT takes one
// round trip.
func awaitReplica(tb testing.TB, primary *redis.Client) {
	tb.Helper()
	ctx := context.Background()
	counted := 0
	require.Eventually(tb, func() bool {
		var n *redis.Cmd
		_, err := primary.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "written", "", 0)
			n = p.Do(ctx, "WAIT", 1, 100)
			return nil
		})
		if err == nil && n.Val() == int64(1) {
			counted++
		}
		return counted == 2
	}, 30*time.Second, time.Millisecond)
}

// leftOf returns how long the lease of a lock still lasts.
func leftOf(tb testing.TB, b *redislock.Backend, name string) time.Duration {
	tb.Helper()
	status, err := b.Inspect(context.Background(), driver.Key{Name: name})
	require.NoError(tb, err)
	require.Equal(tb, driver.StateHeld, status.State)
	return status.ExpiresIn
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

// listed returns the ids and the values of the entries of a linked list (see list.lua), in the order of the list, and
// checks that the fields of the list agree.
func listed(tb testing.TB, fields map[string]string, field, prefix string) (ids, values []string) {
	tb.Helper()
	entries := 0
	for name := range fields {
		if strings.HasPrefix(name, prefix) {
			entries++
		}
	}
	text, ok := fields[field]
	if !ok {
		require.Zero(tb, entries, "the list is empty")
		return nil, nil
	}
	words := strings.Fields(text)
	require.Len(tb, words, 5)
	if words[0] == words[1] {
		require.Zero(tb, entries, "the list has one entry")
		ids, values = words[:1], words[3:4]
	} else {
		before := "-"
		for id := words[0]; id != "-" && len(ids) <= entries; {
			entry := strings.Fields(fields[prefix+id])
			require.Len(tb, entry, 3, id)
			require.Equal(tb, before, entry[0], "before %s", id)
			ids, values = append(ids, id), append(values, entry[2])
			before, id = id, entry[1]
		}
		require.Len(tb, ids, entries)
	}
	require.Equal(tb, words, []string{ids[0], ids[len(ids)-1], strconv.Itoa(len(ids)), values[0], values[len(values)-1]})
	return ids, values
}

// fenced returns a guard for data in a SQL database.
func fenced(tb testing.TB) *fence.Guard {
	tb.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	require.NoError(tb, migrations.Up(tb.Context(), db, migrations.SQLite))
	return fence.SQLite(db)
}

// refuses checks that fences reject the writes of the first of two holders. The first holder still trusts its lease.
// After the second holder has sealed, Redis and a SQL database reject the first holder's writes. The first holder's
// next renewal then reports the loss.
func refuses(tb testing.TB, guard *fence.Guard, client redis.UniversalClient, first, second *rowlock.Lease) {
	tb.Helper()
	require.NoError(tb, first.Err(), "the first holder trusts its lease")
	require.NoError(tb, second.Err())
	assert.Greater(tb, second.Token(), first.Token())

	nothing := func(context.Context, *sql.Tx) error { return nil }
	assert.ErrorIs(tb, guard.Tx(first.Context(), nothing), fence.ErrStale)
	require.NoError(tb, guard.Tx(second.Context(), nothing))

	write := redislock.NewGuard("return redis.call('SET', KEYS[1], ARGV[1])")
	require.NoError(tb, redislock.Seal(tb.Context(), client, "{data}:mark", second.Token()))
	_, err := write.Run(tb.Context(), client, "{data}:mark", first.Token(), []string{"{data}"}, "first")
	assert.ErrorIs(tb, err, redislock.ErrStale)
	_, err = write.Run(tb.Context(), client, "{data}:mark", second.Token(), []string{"{data}"}, "second")
	require.NoError(tb, err)

	require.Eventually(tb, func() bool { return errors.Is(first.Renew(tb.Context()), rowlock.ErrLost) }, redistest.AtMost, 10*time.Millisecond)
	require.NoError(tb, second.Renew(tb.Context()))
}

// shareFields returns the names of those fields of the hash "job" that must not remain after all shares have ended:
// the fields of single shares, and the fields that reserve the lock for writers.
func shareFields(tb testing.TB, c redis.UniversalClient) (fields []string) {
	tb.Helper()
	for _, field := range c.HKeys(context.Background(), job).Val() {
		if field == "writer_until" || field == "writers" || strings.HasPrefix(field, "r:") {
			fields = append(fields, field)
		}
	}
	return fields
}

// listener is a waiter that is subscribed to one name.
type listener struct {
	woken chan struct{}
	stop  func()
}

func (l listener) await(tb testing.TB, why string) {
	tb.Helper()
	select {
	case <-l.woken:
	case <-time.After(redistest.AtMost):
		require.FailNow(tb, "no waiter was woken", why)
	}
}

// listen subscribes b to the names "0", "1", and so on, and consumes the wake-ups of the subscriptions.
func listen(tb testing.TB, b *redislock.Backend, names int) []listener {
	tb.Helper()
	all := make([]listener, names)
	notify := func(name string) listener {
		ctx, cancel := context.WithTimeout(context.Background(), redistest.AtMost)
		defer cancel()
		l := listener{woken: make(chan struct{}, 1)}
		stop, err := b.Notify(ctx, driver.Key{Name: name}, func() {
			select {
			case l.woken <- struct{}{}:
			default:
			}
		})
		require.NoError(tb, err)
		l.stop = stop
		return l
	}
	for i := range all {
		all[i] = notify(fmt.Sprint(i))
		tb.Cleanup(all[i].stop)
	}
	notify("last").stop() // when "last" is confirmed, all earlier confirmations have been delivered
	for _, l := range all {
		select {
		case <-l.woken:
		default:
		}
	}
	return all
}

// subscriptions returns the server's subscribed connections, one per line.
func subscriptions(tb testing.TB, c *redis.Client) (lines []string) {
	tb.Helper()
	text, err := c.Do(context.Background(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
	require.NoError(tb, err)
	for line := range strings.Lines(text) {
		lines = append(lines, line)
	}
	return lines
}
