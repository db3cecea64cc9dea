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

// Backend keeps locks in etcd. It is safe for concurrent use. The backend never closes the client.
type Backend struct {
	*store

	shared bool
}

// store is the state that a Backend shares with the Backend for shared locks (see Shared).
type store struct {
	client *clientv3.Client
	prefix string
	err    error // an invalid option or client; nil if the backend can work

	mu       sync.Mutex
	places   map[int64]*place // sessions for new locks; each map key is the length of an etcd lease in seconds
	holds    map[driver.Nonce]*hold
	busy     map[driver.Nonce]bool // nonces of running acquisitions, and of entries that the method sweep is deleting
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

// Option configures a backend.
type Option func(*store)

// Prefix sets the text that all keys begin with. A slash follows the prefix in each key. The default is "rowlock".
// Backends with the same cluster and prefix share their locks.
func Prefix(p string) Option { return func(s *store) { s.prefix = p } }

// New makes a backend that keeps locks in the etcd cluster to which client connects. It does no I/O. If an option is
// invalid, rowlock.New returns the error.
//
// Set the client's DialKeepAliveTime (gRPC permits 10 s or more), so that the client replaces a connection that has
// stopped delivering data.
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

// Shared returns a backend for shared locks (readers) that uses the sessions of b. Many readers can hold a name at the
// same time. Readers exclude b's grants and all other exclusive holders (writers). Readers and writers wait in the same
// queue, so a reader does not overtake a waiting writer.
//
// Do not fence with the tokens of readers. Each reader has a larger token than earlier readers, so the fence would
// reject the earlier readers while they still hold the lock.
func (b *Backend) Shared() *Backend { return &Backend{store: b.store, shared: true} }

const backendName = "etcdlock"

// Capabilities implements [driver.Backend].
func (b *Backend) Capabilities() driver.Capabilities {
	return driver.Capabilities{
		Backend: backendName, Token: driver.LinearizableToken, MonotonicExpiry: true, Fair: true, Wakes: true,
		Sessions: true, Forgets: true, Pauses: !b.shared, Ticks: !b.shared, Shares: b.shared, Invalid: b.err,
	}
}
