package sqllock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/sqllock"
)

// exit contains the cleanups that run after all tests of the package, the last one first.
var exit struct {
	mu       sync.Mutex
	cleanUps []func() error
}

func atExit(cleanUp func() error) {
	exit.mu.Lock()
	defer exit.mu.Unlock()
	exit.cleanUps = append(exit.cleanUps, cleanUp)
}

func TestMain(m *testing.M) { leaks.Main(cleanedUp{m}) }

type cleanedUp struct{ *testing.M }

func (m cleanedUp) Run() int {
	code := m.M.Run()
	for _, cleanUp := range slices.Backward(exit.cleanUps) {
		if err := cleanUp(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	return code
}

func request(name string) driver.Request {
	return driver.Request{
		Key: driver.Key{Name: name}, Nonce: driver.NewNonce(), TTL: 30 * time.Second, Holder: "tester " + name, Note: "why not",
	}
}

func acquire(t *testing.T, b *sqllock.Backend, r driver.Request) driver.Grant {
	t.Helper()
	g, err := b.Acquire(t.Context(), r)
	require.NoError(t, err)
	assert.Equal(t, driver.Grant{
		Key: r.Key, Nonce: r.Nonce, Token: g.Token, TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay,
	}, g)
	require.Positive(t, g.Token)
	return g
}

// limited returns a context with a deadline that no call without a fault reaches.
func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// refused sends a request for a lock that is not free, asserts that it is refused, and returns the refusal.
func refused(t *testing.T, b *sqllock.Backend, r driver.Request) *driver.Held {
	t.Helper()
	g, err := b.Acquire(t.Context(), r)
	return held(t, err, "granted %v", g)
}

// atOnce is the limit of a call that is refused because another transaction has the lock. On MySQL, such a call may wait
// for a row for two seconds. A call without a limit would wait for 50 seconds on MySQL, and forever on PostgreSQL.
const atOnce = 20 * time.Second

func held(t *testing.T, err error, args ...any) *driver.Held {
	t.Helper()
	var h *driver.Held
	require.ErrorAs(t, err, &h, args...)
	return h
}

func renew(t *testing.T, b *sqllock.Backend, grants ...driver.Grant) []driver.Outcome {
	t.Helper()
	o, err := b.Renew(t.Context(), grants)
	require.NoError(t, err)
	return o
}

// near asserts that got differs from want by at most ten seconds.
func near(t *testing.T, want, got time.Duration, what string) {
	t.Helper()
	assert.InDelta(t, want.Seconds(), got.Seconds(), 10, what)
}

// until polls until the function done returns true. The limit is longer than the minute after which a PostgreSQL
// backend tries again to listen, if it has received no notification within five seconds on a slow machine.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.FailNow(t, "never came: "+what)
		}
	}
}

// isHeld reports whether err is a refusal with this reason.
func isHeld(err error, reason driver.Reason) bool {
	var h *driver.Held
	return errors.As(err, &h) && h.Reason == reason
}

func inspect(t *testing.T, b *sqllock.Backend, name string) driver.Status {
	t.Helper()
	st, err := b.Inspect(t.Context(), driver.Key{Name: name})
	require.NoError(t, err)
	assert.Equal(t, driver.Key{Name: name}, st.Key)
	return st
}

// history records the grants of one name in their order.
type history struct {
	mu            sync.Mutex
	last, present driver.Token
}

func (h *history) grant(t *testing.T, token driver.Token) {
	h.mu.Lock()
	defer h.mu.Unlock()
	assert.Zero(t, h.present, "granted while it was held")
	assert.Greater(t, token, h.last, "tokens rise")
	h.last, h.present = token, token
}

// end records the end of the current grant. It must be called before the release is sent.
func (h *history) end(t *testing.T, token driver.Token) {
	h.mu.Lock()
	defer h.mu.Unlock()
	assert.Equal(t, token, h.present)
	h.present = 0
}

// insist calls the function ask until the lock is granted. The test fails if that function returns an error that is
// neither a refusal nor marked NotApplied.
func insist(t *testing.T, ask func() (driver.Grant, error)) (driver.Grant, bool) {
	limit := time.Now().Add(3 * time.Minute)
	for ; time.Now().Before(limit); <-time.After(rand.N(5 * time.Millisecond)) {
		g, err := ask()
		if err == nil {
			return g, true
		}
		var h *driver.Held
		if driver.IsPermanent(err) || !driver.IsNotApplied(err) && !assert.ErrorAs(t, err, &h) {
			return g, assert.NoError(t, err)
		}
	}
	return driver.Grant{}, assert.Fail(t, "never granted")
}

// releaseAtLast releases g. A release gives up after a second if other transactions keep locking the row, and the engine
// then repeats it.
func releaseAtLast(t *testing.T, b driver.Backend, g driver.Grant) {
	var err error
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); {
		if err = b.Release(t.Context(), g); err == nil || errors.Is(err, driver.ErrNotHeld) {
			break
		}
	}
	assert.NoError(t, err)
}

// everyCall calls each method of b that sends a statement, and returns the errors.
func everyCall(t *testing.T, s *store, b *sqllock.Backend) map[string]error {
	t.Helper()
	r := request("job")
	g := driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: 1, TTL: r.TTL}
	ctx, calls := t.Context(), map[string]error{}
	_, calls["acquire"] = b.Acquire(ctx, r)
	_, calls["renew"] = b.Renew(ctx, []driver.Grant{g})
	share := g
	share.Shared = true
	_, calls["renew a share"] = b.Renew(ctx, []driver.Grant{share})
	calls["release"] = b.Release(ctx, g)
	_, calls["list"] = b.List(ctx, "", true)
	_, calls["inspect"] = b.Inspect(ctx, r.Key)
	calls["pause"] = b.Pause(ctx, g, driver.NewNonce())
	calls["force release"] = b.ForceRelease(ctx, r.Key, 1, true)
	_, calls["prune"] = b.Prune(ctx, time.Hour)
	tx := s.begin(t)
	calls["in transaction"] = b.InTx(ctx, tx, "job")
	require.NoError(t, tx.Rollback())
	return calls
}

func outdated(t *testing.T, table string, calls map[string]error) {
	t.Helper()
	for call, err := range calls {
		var schema *sqllock.SchemaError
		if assert.ErrorAs(t, err, &schema, call) {
			assert.Equal(t, table, schema.Table, call)
			assert.Contains(t, err.Error(), "migrate up", call)
		}
		assert.True(t, driver.IsPermanent(err), call)
	}
}

const domain = "store job"

// sealing returns a request for the lock "job" with Seal set, so that its grant seals.
func sealing() driver.Request {
	r := request("job")
	r.Seal = domain
	return r
}

// mark is the fence mark of one resource. It is the zero value if the resource has no row in the fence table.
type mark struct {
	token         driver.Token
	nonce, domain string
}

// sealed acquires the lock with the request r, and asserts that the grant has sealed.
func sealed(t *testing.T, s *store, b *sqllock.Backend, r driver.Request) driver.Grant {
	t.Helper()
	g, err := b.Acquire(t.Context(), r)
	require.NoError(t, err)
	assert.Equal(t, driver.Grant{
		Key: r.Key, Nonce: r.Nonce, Token: g.Token, TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay, Sealed: true,
	}, g)
	assert.Equal(t, mark{g.Token, r.Nonce.String(), r.Seal}, s.mark(t, r.Key.Name))
	return g
}

// reading returns a request for a share.
func reading(name string) driver.Request {
	r := request(name)
	r.Shared = true
	return r
}

// share sends a request for a share that must be granted.
func share(t *testing.T, b *sqllock.Backend, r driver.Request) driver.Grant {
	t.Helper()
	g, err := b.Acquire(t.Context(), r)
	require.NoError(t, err)
	assert.Equal(t, driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: g.Token, TTL: r.TTL, Shared: true}, g)
	require.Positive(t, g.Token)
	return g
}

// board records who holds one lock at present. A holder is recorded after its grant and before its release, so two
// recorded holders have held the lock at the same time.
type board struct {
	mu              sync.Mutex
	readers         int
	writers         int
	last            driver.Token // the largest token so far
	written         driver.Token // the largest token of a writer so far
	together, joins int          // how many readers there were at once at most, and how often a reader joined others
}

func (h *board) enter(t *testing.T, g driver.Grant) {
	h.mu.Lock()
	defer h.mu.Unlock()
	assert.Zero(t, h.writers, "granted beside a writer")
	if !g.Shared {
		assert.Zero(t, h.readers, "a writer was granted the lock beside readers")
		assert.Greater(t, g.Token, h.last, "the token of a writer is larger than all tokens before")
		h.writers, h.last, h.written = 1, g.Token, g.Token
		return
	}
	assert.Greater(t, g.Token, h.written, "the token of a reader is larger than the tokens of all writers before")
	assert.GreaterOrEqual(t, g.Token, h.last, "tokens do not fall")
	if h.readers > 0 {
		assert.Equal(t, h.last, g.Token, "readers at the same time have one token")
		h.joins++
	}
	h.readers++
	h.last, h.together = g.Token, max(h.together, h.readers)
}

func (h *board) leave(g driver.Grant) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if g.Shared {
		h.readers--
	} else {
		h.writers--
	}
}

// waitFor makes b wait for key. It returns a channel that receives a value for each call of wake.
func waitFor(t *testing.T, b *sqllock.Backend, key driver.Key) (woken chan struct{}, stop func()) {
	t.Helper()
	woken = make(chan struct{}, 1)
	stop, err := b.Notify(t.Context(), key, func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	require.NoError(t, err)
	t.Cleanup(stop)
	return woken, stop
}

// waiting returns a request with Waiting set, as a waiter sends it.
func waiting(name string) driver.Request {
	r := request(name)
	r.Waiting = true
	return r
}

func happens(t *testing.T, woken <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-woken:
	case <-limited(t).Done():
		require.FailNow(t, "never: "+what)
	}
}

// through returns a function that starts a proxy for the server of a DSN, and returns the DSN with the proxy's
// address.
func through(t *testing.T, proxy **faultproxy.Proxy) func(string) string {
	return func(dsn string) string {
		t.Helper()
		open := func(target string) string {
			var err error
			*proxy, err = faultproxy.New(target)
			require.NoError(t, err)
			t.Cleanup((*proxy).Close)
			return (*proxy).Addr()
		}
		if strings.HasPrefix(dsn, "postgres://") {
			u, err := url.Parse(dsn)
			require.NoError(t, err)
			u.Host = open(u.Host)
			return u.String()
		}
		config, err := mysqldriver.ParseDSN(dsn)
		require.NoError(t, err)
		config.Addr = open(config.Addr)
		return config.FormatDSN()
	}
}

// renewing is a locker that counts its renewals and failures.
type renewing struct {
	*rowlock.Locker

	mu      sync.Mutex
	renewed map[string]int // the number of renewals since the last reset, by name
	failed  int            // the number of failures since the last reset
}

func newRenewing(t *testing.T, b *sqllock.Backend, opts ...rowlock.Option) *renewing {
	t.Helper()
	c := &renewing{renewed: map[string]int{}}
	locker, err := rowlock.New(b, append(opts, rowlock.Tracing(&rowlock.Trace{
		Renewed: func(e rowlock.RenewedEvent) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.renewed[e.Name]++
		},
		RenewalFailed: func(rowlock.RenewalFailedEvent) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.failed++
		},
	}))...)
	require.NoError(t, err)
	c.Locker = locker
	t.Cleanup(func() { _ = locker.Close() })
	return c
}

func (c *renewing) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.renewed)
	c.failed = 0
}

func (c *renewing) failures() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// renews waits until each lease has been renewed the given number of times after the call.
func (c *renewing) renews(t *testing.T, times int, leases ...*rowlock.Lease) {
	t.Helper()
	c.reset()
	until(t, "the renewal of each lease", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, lease := range leases {
			require.NoError(t, lease.Err())
			if c.renewed[lease.Name()] < times {
				return false
			}
		}
		return true
	})
}

func (c *renewing) acquire(t *testing.T, names ...string) (leases []*rowlock.Lease) {
	t.Helper()
	for _, name := range names {
		lease, err := c.Acquire(t.Context(), name)
		require.NoError(t, err)
		leases = append(leases, lease)
	}
	return leases
}

// within returns the next value of the given channel. The test fails if no value arrives within a minute: a waiter
// that misses its notification polls up to 20 s later.
func within[T any](t *testing.T, from <-chan T) (next T) {
	t.Helper()
	select {
	case next = <-from:
	case <-time.After(time.Minute):
		require.FailNow(t, "nobody was woken")
	}
	return next
}

// closeIdle closes the connections that b keeps but does not use, as Locker.Close does.
func closeIdle(b *sqllock.Backend) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	b.CloseIdle(ctx)
}
