package inherit_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/inherit"
	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/memlock"
)

func TestMain(m *testing.M) { leaks.Main(m) }

const limit = 20 * time.Second

// parent is a lease, and counts its renewals. If gate is not nil, each renewal waits for its outcome.
type parent struct {
	*rowlock.Lease

	renewals atomic.Int32
	gate     chan error
}

func (p *parent) Renew(ctx context.Context) error {
	p.renewals.Add(1)
	if p.gate != nil {
		if err := <-p.gate; err != nil {
			return err
		}
	}
	return p.Lease.Renew(ctx)
}

func newParent(t *testing.T, opts ...rowlock.Option) *parent {
	t.Helper()
	locker, err := rowlock.New(memlock.New(), append([]rowlock.Option{rowlock.TTL(time.Minute), rowlock.Namespace("space")}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = locker.Close() })
	lease, err := locker.TryAcquire(t.Context(), "job")
	require.NoError(t, err)
	return &parent{Lease: lease}
}

// serve serves the children of p, and returns its description.
func serve(t *testing.T, p *parent) (inherit.Lease, *inherit.Server) {
	t.Helper()
	l := inherit.Lease{
		Key: driver.Key{Namespace: p.Namespace(), Name: p.Name()}, Token: p.Token(), Nonce: p.Nonce(),
		Holder: p.Holder(), Domain: p.Backend(), Shared: p.Shared(),
	}
	s, err := inherit.Serve(p, &l)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return l, s
}

func request(l inherit.Lease) driver.Request {
	return driver.Request{Key: l.Key, Nonce: l.Nonce, TTL: l.TTL, Shared: l.Shared}
}

// The text of a lease has one line, and Parse returns the same lease. The text of a malformed lease gives an error that
// names the wrong field.
func TestATextNamesItsWrongField(t *testing.T) {
	t.Parallel()
	l := inherit.Lease{
		Key: driver.Key{Namespace: "it's", Name: "日本\n\"x\""}, Token: 1<<62 + 1, Nonce: driver.NewNonce(), Shared: true,
		Holder: "me@host:1", Domain: "sqllock/postgres", TTL: 20999 * time.Millisecond, Keeper: "/tmp/x/s",
	}
	text := l.String()
	assert.NotContains(t, text, "\n")
	got, err := inherit.Parse(text)
	require.NoError(t, err)
	assert.Equal(t, l, got)
	_, err = inherit.Parse(strings.Replace(text, "{", `{"later":true,`, 1))
	require.NoError(t, err, "a later version may add fields")

	for from, to := range map[string]string{
		`"version":1`: `"version":2`, `"domain":"sqllock/postgres"`: `"domain":""`, `"namespace":"it's"`: `"namespace":7`,
		`"token":"4611686018427387905"`: `"token":"-1"`, `"nonce":"`: `"nonce":"x`, `"ttl_us":20999000`: `"ttl_us":0`, `"keeper":"/tmp/x/s"`: `"keeper":""`,
		`"name":"日本\n\"x\""`: `"name":"a\u0000"`, `"shared":true`: `"shared":"yes"`, `"holder":"me@host:1"`: `"holder":[]`,
	} {
		require.Contains(t, text, from)
		_, err := inherit.Parse(strings.Replace(text, from, to, 1))
		field, _, _ := strings.Cut(strings.TrimPrefix(from, `"`), `"`)
		require.Error(t, err, to)
		assert.True(t, strings.HasPrefix(err.Error(), field+": "), "%s: %v", to, err)
	}
	for _, bad := range []string{"", "null", "7", "{", text + text} {
		_, err := inherit.Parse(bad)
		require.Error(t, err, bad)
	}
}

// Only this user can open the folder of the socket. Close removes the folder. A long path of the folder for temporary
// files does not matter.
func TestTheSocketIsPrivateAndRemoved(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 25))
	require.NoError(t, os.Mkdir(long, 0o700))
	for _, temporary := range []string{t.TempDir(), long} {
		t.Setenv("TMPDIR", temporary)
		l, s := serve(t, newParent(t))
		info, err := os.Stat(filepath.Dir(l.Keeper))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
		assert.LessOrEqual(t, len(l.Keeper), 100)
		s.Close()
		assert.NoDirExists(t, filepath.Dir(l.Keeper))
	}
}

// A child trusts its lease no longer than its parent does, and every answer comes after a renewal in the store.
func TestAChildTrustsNoLongerThanItsParent(t *testing.T) {
	t.Parallel()
	p := newParent(t)
	l, _ := serve(t, p)
	b := inherit.NewBackend(l)
	for n := range int32(3) {
		before := time.Now()
		r := request(l)
		r.TTL = time.Hour // so that only the answer limits the trust
		g, err := b.Acquire(t.Context(), r)
		require.NoError(t, err)
		assert.Equal(t, p.Nonce(), g.Nonce)
		assert.Equal(t, p.Token(), g.Token)
		assert.Equal(t, 2*n+1, p.renewals.Load())
		assert.False(t, before.Add(g.TTL).After(p.ExpiresAt()), "the child's deadline")
		g.TTL = l.TTL
		outcomes, err := b.Renew(t.Context(), []driver.Grant{g})
		require.NoError(t, err)
		assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
		assert.Equal(t, 2*n+2, p.renewals.Load())
	}
	require.NoError(t, b.Release(t.Context(), driver.Grant{Key: l.Key, Nonce: l.Nonce, Token: l.Token}))
	require.NoError(t, p.Err(), "the parent still has its lease")
}

// An answer to an earlier request, which the child no longer waits for, does not count as the answer to a later one.
func TestALateAnswerDoesNotCount(t *testing.T) {
	t.Parallel()
	p := newParent(t)
	p.gate = make(chan error, 1)
	l, _ := serve(t, p)
	b := inherit.NewBackend(l)
	p.gate <- nil
	g, err := b.Acquire(t.Context(), request(l))
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := b.Renew(ctx, []driver.Grant{g})
		first <- err
	}()
	require.Eventually(t, func() bool { return p.renewals.Load() == 2 }, limit, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)
	second := make(chan error, 1)
	go func() {
		_, err := b.Renew(t.Context(), []driver.Grant{g})
		second <- err
	}()
	p.gate <- nil // the parent answers the first request
	require.Eventually(t, func() bool { return p.renewals.Load() == 3 }, limit, time.Millisecond)
	p.gate <- errors.New("the store is away")
	require.ErrorContains(t, <-second, "the store is away", "it took the answer to the first request")
}

// The end of the parent's lease ends every connection. From then on the child's renewals are lost, and a new child
// cannot connect.
func TestTheEndOfTheLeaseEndsTheConnections(t *testing.T) {
	t.Parallel()
	p := newParent(t)
	l, _ := serve(t, p)
	b := inherit.NewBackend(l)
	g, err := b.Acquire(t.Context(), request(l))
	require.NoError(t, err)
	session := g.Session
	require.NoError(t, session.Err())
	require.NoError(t, p.Release(t.Context()))
	require.Eventually(t, func() bool { return session.Err() != nil }, limit, time.Millisecond)
	require.ErrorIs(t, context.Cause(session), inherit.ErrGone)
	outcomes, err := b.Renew(t.Context(), []driver.Grant{g})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Lost}, outcomes)
	require.ErrorIs(t, b.Release(t.Context(), g), driver.ErrNotHeld)
	_, err = inherit.NewBackend(l).Acquire(t.Context(), request(l))
	require.ErrorIs(t, err, inherit.ErrGone)
}

// The parent closes the connection of a process that does not know the nonce, or that sends anything but requests.
func TestAStrangerIsNotAnswered(t *testing.T) {
	t.Parallel()
	p := newParent(t)
	l, _ := serve(t, p)
	for _, line := range []string{
		fmt.Sprintf(`{"id":1,"nonce":%q}`, driver.NewNonce()), `{"id":1}`, "GET / HTTP/1.1", strings.Repeat("x", 5000),
	} {
		conn, err := net.Dial("unix", l.Keeper)
		require.NoError(t, err)
		_, _ = fmt.Fprintln(conn, line) // the parent may close the connection while the line is written
		n, err := conn.Read(make([]byte, 1))
		assert.Zero(t, n)
		require.Error(t, err)
		require.NoError(t, conn.Close())
	}
	assert.Zero(t, p.renewals.Load())
}

// Close returns, and every goroutine ends, even if more children are connected than the parent answers.
func TestCloseEndsManyConnections(t *testing.T) {
	t.Parallel()
	l, s := serve(t, newParent(t))
	var all []net.Conn
	for range 200 {
		conn, err := net.Dial("unix", l.Keeper)
		require.NoError(t, err)
		all = append(all, conn)
	}
	s.Close()
	for _, conn := range all {
		_, err := conn.Read(make([]byte, 1))
		require.Error(t, err)
		require.NoError(t, conn.Close())
	}
}
