package zklock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/ring"
)

// Backend keeps locks in ZooKeeper. It is safe for concurrent use. It opens its own connections, and opens the first
// connection for the first lock. The caller must close the backend.
type Backend struct {
	servers []string
	root    string
	acl     []zk.ACL // nil if the option ACL is not given
	auth    []credentials
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	err     error // an invalid option or address; nil if the backend can work

	mu       sync.Mutex
	closed   bool
	sessions map[time.Duration]*session // sessions for new locks; each map key is a session's requested timeout
	entries  map[driver.Nonce]*entry
	versions ring.Map[driver.Key, int32] // the version of a lock's node after the last release by this process
	ended    ring.Map[ending, struct{}]  // grants that were released, and pauses that were made
	running  sync.WaitGroup              // goroutines of sessions
}

// ending identifies a released grant, or a pause by its own nonce and the token of the grant that it replaced.
type ending struct {
	nonce driver.Nonce
	token driver.Token
}

type credentials struct {
	scheme string
	secret []byte
}

var (
	_ driver.Backend  = (*Backend)(nil)
	_ driver.Awaiter  = (*Backend)(nil)
	_ driver.Operator = (*Backend)(nil)
	_ driver.Idler    = (*Backend)(nil)
)

// Option configures a backend.
type Option func(*Backend)

// Root sets the node below which the backend keeps all locks. The default is "/rowlock". Backends with the same
// ensemble and root share their locks. Missing nodes are created. Only the first part of the path may be "locks" or
// begin with "locks-". Below the first part, a backend with another Root may keep its locks in nodes with such names.
func Root(path string) Option { return func(b *Backend) { b.root = path } }

// Digest authenticates every connection with user and password.
func Digest(user, password string) Option { return Auth("digest", []byte(user+":"+password)) }

// Auth authenticates every connection with any scheme that the servers support. The option may be given more than once.
func Auth(scheme string, secret []byte) Option {
	return func(b *Backend) { b.auth = append(b.auth, credentials{scheme, slices.Clone(secret)}) }
}

// ACL sets the access control list of all created nodes. With [Auth] or [Digest], the default is
// zk.AuthACL(zk.PermAll), which gives all rights to clients with the same credentials. Without these options, the
// default gives all rights to everybody. All programs that use the same locks need all rights except admin.
func ACL(acl ...zk.ACL) Option { return func(b *Backend) { b.acl = append([]zk.ACL{}, acl...) } }

// Dialer sets the function that opens connections, for TLS or a proxy. When an attempt to connect takes too long, the
// ctx that dial received ends. The default is net.Dialer.DialContext.
func Dialer(dial func(ctx context.Context, network, address string) (net.Conn, error)) Option {
	return func(b *Backend) { b.dial = dial }
}

// New makes a backend that keeps locks in a ZooKeeper ensemble. Pass one or more of its servers as host:port, or as a
// host alone for port 2181. New does no I/O. Host names are resolved again for each connection. If an option is
// invalid, rowlock.New returns the error.
//
// New does not accept a connection of the caller, for two reasons. Trust in a lease depends on the session's timeout,
// which a *zk.Conn does not reveal. And the caller's connection may wait for a hanging server for longer than that
// timeout.
func New(servers []string, opts ...Option) *Backend {
	b := &Backend{
		servers: zk.FormatServers(servers), root: "/rowlock", dial: new(net.Dialer).DialContext,
		sessions: make(map[time.Duration]*session), entries: make(map[driver.Nonce]*entry),
	}
	for _, opt := range opts {
		if opt != nil {
			opt(b)
		}
	}
	if b.acl == nil {
		b.acl = zk.WorldACL(zk.PermAll)
		if len(b.auth) > 0 {
			b.acl = zk.AuthACL(zk.PermAll)
		}
	}
	b.err = b.check()
	return b
}

func (b *Backend) check() error {
	for i, server := range b.servers {
		if wrong := wrongWith(server); wrong != "" {
			return fmt.Errorf("zklock: servers[%d]: %s", i, wrong)
		}
	}
	parts := strings.Split(b.root, "/")
	switch {
	case len(b.servers) == 0:
		return errors.New("zklock: servers: want at least one, as host:port")
	case len(parts) < 2 || parts[0] != "" || slices.ContainsFunc(parts[1:], func(p string) bool { return p == "" || p != escape(p) }) || !utf8.ValidString(b.root):
		return fmt.Errorf("zklock: Root(%q): must be a ZooKeeper path such as /rowlock", b.root)
	case slices.ContainsFunc(parts[2:], func(p string) bool { _, ok := namespaceOf(p); return ok }):
		return fmt.Errorf("zklock: Root(%q): another Root may keep its locks there: only the first part of the path may be \"locks\" or begin with \"locks-\"", b.root)
	case b.dial == nil:
		return errors.New("zklock: Dialer: the function is nil")
	case len(b.acl) == 0:
		return errors.New("zklock: ACL: the list is empty")
	}
	return nil
}

// wrongWith returns an empty text if server is an address, and otherwise says what is wrong. Some mistakes come from
// other clients of ZooKeeper, which accept a list of servers and a root in one string. The text does not repeat server,
// which may be a URL with a password.
func wrongWith(server string) string {
	host, port, err := net.SplitHostPort(server)
	number, notNumber := strconv.ParseUint(port, 10, 16)
	switch {
	case strings.Contains(server, ","):
		return "want one host:port; give each server as a separate string"
	case strings.Contains(server, "/"):
		return "want host:port; set the root node with the option Root"
	case err != nil, host == "", strings.ContainsAny(host, " @"), notNumber != nil, number == 0:
		return "want host:port, or a host alone for port 2181"
	}
	return ""
}

const backendName = "zklock"

// Capabilities implements [driver.Backend].
func (b *Backend) Capabilities() driver.Capabilities {
	c := driver.Capabilities{
		Backend: backendName, Token: driver.LinearizableToken, MonotonicExpiry: true, Fair: true, Wakes: true,
		Sessions: true, Forgets: true, Pauses: true, Ticks: true, Shares: true, Invalid: b.err,
	}
	if slices.ContainsFunc(b.acl, func(a zk.ACL) bool { return a.Scheme == "world" && a.Perms&^zk.PermRead != 0 }) {
		c.Warnings = []string{"every client of the servers can end every lock, because nodes are created without authentication: use the option Digest, Auth or ACL"}
	}
	return c
}

// Close ends all sessions, and with them the locks that are still held. It returns when the connections are closed. If
// the servers do not answer, that takes about a second. Close the lockers before the backend.
func (b *Backend) Close() {
	b.mu.Lock()
	b.closed = true
	open := slices.Collect(maps.Values(b.sessions))
	b.mu.Unlock()
	for _, s := range open {
		s.finish(errClosed)
	}
	b.running.Wait()
}

// CloseIdle implements [driver.Idler]. It ends the sessions that have no locks, no waiters and no running requests. An
// acquisition that has already chosen such a session is repeated on another session.
func (b *Backend) CloseIdle(ctx context.Context) {
	b.mu.Lock()
	var idle []*session
	for _, s := range b.sessions {
		if len(s.entries()) == 0 && s.asking.Load() == 0 {
			s.end(errIdle)
			idle = append(idle, s)
		}
	}
	b.mu.Unlock()
	for _, s := range idle {
		s.finish(errIdle)
		select {
		case <-s.ended:
		case <-ctx.Done():
		}
	}
}
