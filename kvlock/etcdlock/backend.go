package etcdlock

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// Backend keeps locks in etcd. It is safe for concurrent use. The client stays the caller's to close.
type Backend struct {
	*store

	shared bool
}

// store is what the exclusive and the shared form of a backend have in common.
type store struct {
	client *clientv3.Client
	prefix string
	err    error // why it cannot work

	mu       sync.Mutex
	places   map[int64]*place // of sessions, by the seconds of their leases
	holds    map[driver.Nonce]*hold
	busy     map[driver.Nonce]bool // acquisitions under way, and entries that are being taken back
	sentries map[*session]*sentry
	released memory
	paused   memory
}

var (
	_ driver.Backend  = (*Backend)(nil)
	_ driver.Awaiter  = (*Backend)(nil)
	_ driver.Session  = (*Backend)(nil)
	_ driver.Operator = (*Backend)(nil)
)

// Option changes where a Backend keeps its locks.
type Option func(*store)

// Prefix is what the keys of all locks begin with, before a slash. The default is "rowlock". Backends
// share their locks if they have the same cluster and prefix.
func Prefix(p string) Option { return func(s *store) { s.prefix = p } }

// New keeps locks in the cluster that client reaches. It does no I/O. An option that cannot work is
// an error of rowlock.New.
//
// The client's DialKeepAliveTime should be set (10 s is the least that gRPC permits), so that a
// connection that has gone silent is replaced.
func New(client *clientv3.Client, opts ...Option) *Backend {
	s := &store{
		client: client, prefix: "rowlock",
		places: make(map[int64]*place), sentries: make(map[*session]*sentry),
		holds: make(map[driver.Nonce]*hold), busy: make(map[driver.Nonce]bool),
	}
	for _, opt := range opts {
		if opt != nil {
			opt(s)
		}
	}
	switch {
	case client == nil:
		s.err = errors.New("etcdlock: the client is nil")
	case s.prefix == "" || strings.HasSuffix(s.prefix, "/") || !utf8.ValidString(s.prefix):
		s.err = fmt.Errorf("etcdlock: Prefix(%q): must be UTF-8, not empty, and not end with a slash", s.prefix)
	case strings.Contains(s.prefix, "/"+mark):
		s.err = fmt.Errorf("etcdlock: Prefix(%q): must not contain /%s, which the keys of a lock begin with", s.prefix, mark)
	}
	return &Backend{store: s}
}

// Shared returns the form of b whose grants share a name with each other, and exclude those of b and
// of everybody who takes it exclusively: readers beside a writer. They stand in the same queue, so that
// a reader does not pass a writer who waits. It lives on the same sessions.
//
// Tokens of readers rise as all others do, so do not fence with them: a later reader would refuse the
// earlier ones.
func (b *Backend) Shared() *Backend { return &Backend{store: b.store, shared: true} }

const backendName = "etcdlock"

// Capabilities is what etcd promises.
func (b *Backend) Capabilities() driver.Capabilities {
	return driver.Capabilities{
		Backend: backendName, Token: driver.LinearizableToken, MonotonicExpiry: true, Fair: true, Wakes: true,
		Sessions: true, Forgets: true, Pauses: !b.shared, Shares: b.shared, Invalid: b.err,
	}
}
