package zklock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// Backend keeps locks in ZooKeeper. It is safe for concurrent use. It makes connections of its own,
// the first with the first lock, and must be closed.
type Backend struct {
	*store

	shared bool
}

// store is what the exclusive and the shared form of a backend have in common.
type store struct {
	servers []string
	root    string
	acl     []zk.ACL // nil: the default
	auth    []credentials
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	err     error // why it cannot work

	mu       sync.Mutex
	closed   bool
	places   map[time.Duration]*session // for new locks, by the timeout that is asked for
	entries  map[driver.Nonce]*entry
	busy     map[driver.Nonce]bool // acquisitions under way
	linger   time.Duration         // for how long a session that nobody uses is kept
	released ring[ended, struct{}]
	paused   ring[ended, struct{}] // by the nonces of the pauses
	versions ring[driver.Key, int32]
	running  sync.WaitGroup // sessions
}

type credentials struct {
	scheme string
	secret []byte
}

var (
	_ driver.Backend  = (*Backend)(nil)
	_ driver.Awaiter  = (*Backend)(nil)
	_ driver.Session  = (*Backend)(nil)
	_ driver.Operator = (*Backend)(nil)
)

// Option changes how a Backend is made.
type Option func(*store)

// Root is the node below which all locks are kept. The default is "/rowlock". Backends share their
// locks if they have the same ensemble and root. Nodes that do not exist are created. No part of the path but
// the first may be "locks" or begin with "locks-": another Root keeps its locks there.
func Root(path string) Option { return func(s *store) { s.root = path } }

// Digest authenticates every connection by user and password.
func Digest(user, password string) Option { return Auth("digest", []byte(user+":"+password)) }

// Auth authenticates every connection by another scheme of the servers'. It may be given more than
// once.
func Auth(scheme string, secret []byte) Option {
	return func(s *store) { s.auth = append(s.auth, credentials{scheme, slices.Clone(secret)}) }
}

// ACL is the access control list of all nodes that are created. The default is zk.AuthACL(zk.PermAll),
// those who authenticate alike, if there is an [Auth] or [Digest], and else anybody. All who take the
// same locks need all rights but that to administer.
func ACL(acl ...zk.ACL) Option { return func(s *store) { s.acl = append([]zk.ACL{}, acl...) } }

// Dialer makes the connections, for TLS or a proxy. ctx ends when the attempt has taken too long. The
// default is a net.Dialer's DialContext.
func Dialer(dial func(ctx context.Context, network, address string) (net.Conn, error)) Option {
	return func(s *store) { s.dial = dial }
}

// New keeps locks in the ensemble of which some servers are given as host:port, or host alone for the
// usual port. It does no I/O; names are looked up whenever a connection is made. An option that cannot
// work is an error of rowlock.New.
//
// It takes no connection of the caller's: how long a session lives, which trust in a lease depends on,
// cannot be learned from one, and one that waits for a server that hangs may wait for longer than that.
func New(servers []string, opts ...Option) *Backend {
	s := &store{
		servers: zk.FormatServers(servers), root: "/rowlock", dial: new(net.Dialer).DialContext,
		places: make(map[time.Duration]*session), entries: make(map[driver.Nonce]*entry), busy: make(map[driver.Nonce]bool),
		linger: time.Minute,
	}
	for _, opt := range opts {
		if opt != nil {
			opt(s)
		}
	}
	if s.acl == nil {
		s.acl = zk.WorldACL(zk.PermAll)
		if len(s.auth) > 0 {
			s.acl = zk.AuthACL(zk.PermAll)
		}
	}
	s.err = s.check()
	return &Backend{store: s}
}

func (s *store) check() error {
	for i, server := range s.servers {
		if wrong := wrongWith(server); wrong != "" {
			return fmt.Errorf("zklock: servers[%d]: %s", i, wrong)
		}
	}
	parts := strings.Split(s.root, "/")
	switch {
	case len(s.servers) == 0:
		return errors.New("zklock: servers: want at least one, as host:port")
	case len(parts) < 2 || parts[0] != "" || slices.ContainsFunc(parts[1:], func(p string) bool { return p == "" || p != escape(p) }) || !utf8.ValidString(s.root):
		return fmt.Errorf("zklock: Root(%q): must be a path of ZooKeeper's such as /rowlock", s.root)
	case slices.ContainsFunc(parts[2:], func(p string) bool { _, ok := namespaceOf(p); return ok }):
		return fmt.Errorf("zklock: Root(%q): the locks of another Root may be kept there: no part but the first may be locks or begin with locks-", s.root)
	case s.dial == nil:
		return errors.New("zklock: Dialer: the function is nil")
	case len(s.acl) == 0:
		return errors.New("zklock: ACL: the list is empty")
	}
	return nil
}

// wrongWith says why server is no address; empty if it is one. Other clients of ZooKeeper take a list of servers and a root in one
// string. It does not repeat what was given, which may be a URL with a password.
func wrongWith(server string) string {
	host, port, err := net.SplitHostPort(server)
	number, notNumber := strconv.ParseUint(port, 10, 16)
	switch {
	case strings.Contains(server, ","):
		return "want one host:port; give each server as a string of its own"
	case strings.Contains(server, "/"):
		return "want host:port; the node below which locks are kept is the option Root"
	case err != nil, host == "", strings.ContainsAny(host, " @"), notNumber != nil, number == 0:
		return "want host:port, or a host alone for port 2181"
	}
	return ""
}

// Shared returns the form of b whose grants share a name with each other, and exclude those of b and
// of everybody who takes it exclusively. It has the same connections; closing one closes both.
func (b *Backend) Shared() *Backend { return &Backend{store: b.store, shared: true} }

const backendName = "zklock"

// Capabilities is what ZooKeeper promises.
func (b *Backend) Capabilities() driver.Capabilities {
	c := driver.Capabilities{
		Backend: backendName, Token: driver.LinearizableToken, MonotonicExpiry: true, Fair: true, Wakes: true,
		Sessions: true, Forgets: true, Pauses: !b.shared, Shares: b.shared, Invalid: b.err,
	}
	if slices.ContainsFunc(b.acl, func(a zk.ACL) bool { return a.Scheme == "world" && a.Perms&^zk.PermRead != 0 }) {
		c.Warnings = []string{"everybody who reaches the servers may end every lock and take its name, because nodes are created without authentication: give a user and a password, or an ACL"}
	}
	return c
}

// Close ends all sessions, and with them what is still held on them. It returns when the connections
// are closed, in about a second if the servers do not answer. Close the lockers before.
func (b *Backend) Close() {
	b.mu.Lock()
	b.closed = true
	var open []*session
	for _, s := range b.places {
		open = append(open, s)
	}
	b.mu.Unlock()
	for _, s := range open {
		s.finish(errClosed)
	}
	b.running.Wait()
}
