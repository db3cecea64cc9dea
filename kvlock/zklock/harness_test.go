package zklock_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/kvlock/zklock"
	"github.com/rowlock/rowlock/locktest"
)

func server(tb testing.TB) string {
	tb.Helper()
	return testenv.DSN(tb, testenv.EngineZooKeeper)
}

// connect opens a client of ZooKeeper's Go library for one test. The client sends a ping after each third of the session
// timeout.
func connect(tb testing.TB, session time.Duration, servers ...string) *zk.Conn {
	tb.Helper()
	conn, events, err := zk.Connect(servers, session, zk.WithLogger(quiet{}))
	require.NoError(tb, err)
	tb.Cleanup(func() {
		conn.Close()
		for range events { // the channel is closed when the client's goroutines have ended
		}
	})
	return conn
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// root returns a root that only this test uses.
func root() zklock.Option { return zklock.Root("/test-" + driver.NewNonce().String()) }

// open returns a backend that is closed when the test ends.
func open(tb testing.TB, servers []string, opts ...zklock.Option) *zklock.Backend {
	tb.Helper()
	b := zklock.New(servers, opts...)
	tb.Cleanup(b.Close)
	return b
}

// network is the harness for one server or ensemble. Each client connects through proxies of its own, which can make
// its network fail.
type network struct {
	servers  []string
	root     zklock.Option
	direct   *zk.Conn
	watching *zklock.Backend // without a proxy

	mu      sync.Mutex
	clients map[driver.Backend]*client
	secrets map[int64][]byte // each map key is the id of a session
	ending  sync.RWMutex     // blocks new connections while a session is being ended
}

type client struct {
	proxies []*faultproxy.Proxy
	backend *zklock.Backend
}

var (
	_ locktest.Closer       = (*network)(nil)
	_ locktest.Expirer      = (*network)(nil)
	_ locktest.Crasher      = (*network)(nil)
	_ locktest.Partitioner  = (*network)(nil)
	_ locktest.ReplyDropper = (*network)(nil)
)

func newNetwork(tb testing.TB, servers ...string) *network {
	tb.Helper()
	return newNetworkWith(tb, connect(tb, usualSession, servers...), servers...)
}

// usualSession is the session timeout of the tests' own clients.
const usualSession = 10 * time.Second

// newNetworkWith returns a harness whose own client is direct.
func newNetworkWith(tb testing.TB, direct *zk.Conn, servers ...string) *network {
	tb.Helper()
	n := &network{servers: servers, root: root(), direct: direct, clients: make(map[driver.Backend]*client), secrets: make(map[int64][]byte)}
	n.watching = open(tb, servers, n.root, n.overheard())
	tb.Cleanup(func() {
		for b := range n.clients {
			require.NoError(tb, n.Close(b))
		}
	})
	return n
}

func (n *network) Open(context.Context) (driver.Backend, error) { return n.open() }

func (n *network) open(opts ...zklock.Option) (*zklock.Backend, error) {
	c := new(client)
	var through []string
	for _, s := range n.servers {
		proxy, err := faultproxy.New(s)
		if err != nil {
			return nil, err
		}
		c.proxies = append(c.proxies, proxy)
		through = append(through, proxy.Addr())
	}
	c.backend = zklock.New(through, append([]zklock.Option{n.root, n.overheard()}, opts...)...)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clients[c.backend] = c
	return c.backend, nil
}

func (n *network) each(b driver.Backend, do func(*faultproxy.Proxy)) error {
	n.mu.Lock()
	c := n.clients[b]
	n.mu.Unlock()
	if c == nil {
		return fmt.Errorf("%v is not a client of this harness", b)
	}
	for _, p := range c.proxies {
		do(p)
	}
	return nil
}

// Requests counts what a client sends. That includes the pings of its session.
func (n *network) Requests(b driver.Backend) (sent int, err error) {
	err = n.each(b, func(p *faultproxy.Proxy) { sent += p.Requests() })
	return sent, err
}

func (n *network) Close(b driver.Backend) error {
	if err := n.each(b, (*faultproxy.Proxy).Close); err != nil {
		return err
	}
	n.mu.Lock()
	c := n.clients[b]
	delete(n.clients, b)
	n.mu.Unlock()
	c.backend.Close()
	return nil
}

func (n *network) Crash(b driver.Backend) error   { return n.each(b, (*faultproxy.Proxy).Close) }
func (n *network) Cut(b driver.Backend) error     { return n.each(b, (*faultproxy.Proxy).Cut) }
func (n *network) Restore(b driver.Backend) error { return n.each(b, (*faultproxy.Proxy).Restore) }

func (n *network) DropReply(b driver.Backend) error {
	return n.each(b, func(p *faultproxy.Proxy) { p.DropReplies(1, faultproxy.Reset) })
}

// Expire ends the session of the first node in key's queue, and returns when the node is deleted.
func (n *network) Expire(ctx context.Context, key driver.Key) error {
	path, stat, err := n.head(key)
	if err != nil {
		return err
	}
	if err := n.endSession(stat.EphemeralOwner); err != nil {
		return err
	}
	for ctx.Err() == nil {
		found, _, err := n.direct.Exists(path)
		if err != nil || !found {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return ctx.Err()
}

// head returns the first node in key's queue.
func (n *network) head(key driver.Key) (string, *zk.Stat, error) {
	children, err := n.queue(key)
	if err != nil {
		return "", nil, err
	}
	if len(children) == 0 {
		return "", nil, fmt.Errorf("%q is not held", key)
	}
	path := n.watching.Container(key) + "/" + children[0]
	_, stat, err := n.direct.Get(path)
	return path, stat, err
}

// queue returns the nodes in key's queue, the holder's first.
func (n *network) queue(key driver.Key) ([]string, error) {
	container := n.watching.Container(key)
	if _, err := n.direct.Sync(container); err != nil {
		return nil, err
	}
	children, _, err := n.direct.Children(container)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return zklock.Sequences(children), err
}

// endSession ends a session of another client. It connects with that session's secret, like the owner of the session,
// and then closes the session. Meanwhile the owner must not reconnect. Otherwise its session would end on a live
// connection, which servers never do.
func (n *network) endSession(id int64) error {
	n.ending.Lock()
	defer n.ending.Unlock()
	n.mu.Lock()
	secret := n.secrets[id]
	n.mu.Unlock()
	conn, err := net.Dial("tcp", n.servers[0])
	if err != nil {
		return err
	}
	defer conn.Close()
	hello := binary.BigEndian.AppendUint32(nil, 44) // ConnectRequest of zookeeper.jute
	hello = append(hello, make([]byte, 4+8)...)
	hello = binary.BigEndian.AppendUint32(hello, 10_000)
	hello = binary.BigEndian.AppendUint64(hello, uint64(id))
	hello = binary.BigEndian.AppendUint32(hello, 16)
	hello = append(hello, secret...)
	const closing = -11 // ZooDefs.OpCode.closeSession
	closeSession := binary.BigEndian.AppendUint32(nil, 8)
	closeSession = binary.BigEndian.AppendUint32(closeSession, 1)
	code := int32(closing)
	closeSession = binary.BigEndian.AppendUint32(closeSession, uint32(code))
	if _, err := conn.Write(hello); err != nil {
		return err
	}
	if _, err := io.ReadFull(conn, make([]byte, 4)); err != nil {
		return err
	}
	_, err = conn.Write(closeSession)
	_, _ = io.Copy(io.Discard, conn) // waits until the server closes the connection
	return err
}

// overheard returns a dialer that records the secrets of sessions, which it reads from the servers' first replies.
func (n *network) overheard() zklock.Option {
	return zklock.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
		n.ending.RLock()
		defer n.ending.RUnlock()
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &eavesdropper{Conn: conn, network: n}, nil
	})
}

type eavesdropper struct {
	net.Conn

	network *network
	head    []byte
}

func (e *eavesdropper) Read(p []byte) (int, error) {
	n, err := e.Conn.Read(p)
	if len(e.head) < greeting && n > 0 { // ConnectResponse: length, version, timeout, session, length, secret
		if e.head = append(e.head, p[:n]...); len(e.head) >= greeting {
			e.network.mu.Lock()
			e.network.secrets[int64(binary.BigEndian.Uint64(e.head[12:]))] = e.head[24:greeting]
			e.network.mu.Unlock()
		}
	}
	return n, err
}

const greeting = 40
