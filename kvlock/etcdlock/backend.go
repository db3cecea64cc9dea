package etcdlock

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/ring"
)

// Backend keeps locks in etcd. It is safe for concurrent use. The backend never closes the client.
type Backend struct {
	client *clientv3.Client
	prefix string
	err    error // an invalid option or client; nil if the backend can work
	times  times

	mu       sync.Mutex
	openers  map[int64]*opener // sessions for new locks; each map key is the length of an etcd lease in seconds
	entries  map[driver.Nonce]*entry
	sentries map[*session]*sentry
	ended    ring.Map[ending, struct{}] // grants that were released, and pauses that were made
}

var (
	_ driver.Backend  = (*Backend)(nil)
	_ driver.Awaiter  = (*Backend)(nil)
	_ driver.Operator = (*Backend)(nil)
)

// times are the times of a backend that tests shorten.
type times struct {
	checks int // how often a waiter renews its session and reads the queue in each TTL of the session
}

var usual = times{checks: 4}

// Option configures a backend.
type Option func(*Backend)

// Prefix sets the text that all keys begin with. A slash follows the prefix in each key. The default is "rowlock".
// Backends with the same cluster and prefix share their locks.
func Prefix(p string) Option { return func(b *Backend) { b.prefix = p } }

// New makes a backend that keeps locks in the etcd cluster to which client connects. It does no I/O. If an option is
// invalid, rowlock.New returns the error.
//
// Set the client's DialKeepAliveTime (gRPC permits 10 s or more), so that the client replaces a connection that has
// stopped delivering data.
func New(client *clientv3.Client, opts ...Option) *Backend {
	b := &Backend{
		client: client, prefix: "rowlock", times: usual,
		openers: make(map[int64]*opener), entries: make(map[driver.Nonce]*entry), sentries: make(map[*session]*sentry),
	}
	for _, opt := range opts {
		if opt != nil {
			opt(b)
		}
	}
	switch {
	case client == nil:
		b.err = errors.New("etcdlock: the client is nil")
	case b.prefix == "" || strings.HasSuffix(b.prefix, "/") || !utf8.ValidString(b.prefix):
		b.err = fmt.Errorf("etcdlock: Prefix(%q): must be UTF-8, not empty, and not end with a slash", b.prefix)
	case strings.Contains(b.prefix, "/"+mark):
		b.err = fmt.Errorf("etcdlock: Prefix(%q): must not contain /%s, which marks the keys of a lock", b.prefix, mark)
	}
	return b
}

const backendName = "etcdlock"

// Capabilities implements [driver.Backend].
func (b *Backend) Capabilities() driver.Capabilities {
	return driver.Capabilities{
		Backend: backendName, Token: driver.LinearizableToken, MonotonicExpiry: true, Fair: true, Wakes: true,
		Sessions: true, Forgets: true, Pauses: true, Ticks: true, Shares: true, Invalid: b.err,
	}
}
