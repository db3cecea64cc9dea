package rowlock_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/inherit"
	"github.com/rowlock/rowlock/memlock"
)

// bequeath serves the children of lease, and sets ROWLOCK_LEASE.
func bequeath(t *testing.T, lease *rowlock.Lease) inherit.Lease {
	t.Helper()
	l := inherit.Lease{
		Key: driver.Key{Namespace: lease.Namespace(), Name: lease.Name()}, Token: lease.Token(), Nonce: lease.Nonce(),
		Holder: lease.Holder(), Domain: lease.Backend(), Shared: lease.Shared(),
	}
	s, err := inherit.Serve(lease, &l)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	t.Setenv(inherit.Variable, l.String())
	return l
}

type valueKey struct{}

// The lease of FromEnvironment is the parent's lease: name, token, nonce and holder are equal. Its contexts carry it, and
// end no later than the parent's trust.
func TestAnInheritedLeaseIsTheParents(t *testing.T) {
	for name, opts := range map[string][]rowlock.Option{"exclusive": nil, "shared": {rowlock.Shared()}, "short": {rowlock.TTL(3 * time.Second)}} {
		t.Run(name, func(t *testing.T) {
			store := memlock.New()
			parent := acquire(t, locker(t, store, rowlock.Namespace("space"), rowlock.Holder("the parent")), "job", opts...)
			bequeath(t, parent)
			ctx, lease, err := rowlock.FromEnvironment(context.WithValue(t.Context(), valueKey{}, 7))
			require.NoError(t, err)
			defer lease.Release(ctx) //nolint:errcheck // it ends the connection
			assert.Equal(t, parent.String(), lease.String())
			assert.Equal(t, parent.Nonce(), lease.Nonce())
			assert.Equal(t, parent.Backend(), lease.Backend())
			assert.Equal(t, parent.Shared(), lease.Shared())
			carried, ok := rowlock.FromContext(ctx)
			assert.True(t, ok)
			assert.Same(t, lease, carried)
			assert.Equal(t, 7, ctx.Value(valueKey{}))
			if name != "short" { // the parent may renew its lease between the two getters, but not so soon
				assert.False(t, lease.ExpiresAt().After(parent.ExpiresAt()))
				require.NoError(t, lease.Renew(ctx))
				assert.False(t, lease.ExpiresAt().After(parent.ExpiresAt()))
			}
			require.NoError(t, parent.Release(t.Context()))
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), rowlock.ErrLost)
			require.ErrorIs(t, lease.Err(), rowlock.ErrLost)
		})
	}
}

// The release of an inherited lease ends the trust of the child, and not the lock. ReleaseWith does not call its
// function. The caller's ctx ends the context, too.
func TestAnInheritedLeaseDoesNotReleaseTheLock(t *testing.T) {
	parent := acquire(t, locker(t, memlock.New()), "job")
	bequeath(t, parent)
	outer, cancel := context.WithCancel(t.Context())
	ctx, lease, err := rowlock.FromEnvironment(outer)
	require.NoError(t, err)
	err = lease.ReleaseWith(ctx, func(context.Context) error { panic("called") })
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.NoError(t, lease.Err())
	cancel()
	require.ErrorIs(t, ctx.Err(), context.Canceled)
	require.NoError(t, lease.Err(), "only the context has ended")
	require.NoError(t, lease.Release(ctx))
	require.ErrorIs(t, lease.Err(), rowlock.ErrReleased)
	require.NoError(t, parent.Renew(t.Context()))
	require.NoError(t, parent.Release(t.Context()))
}

// Shortly before the end of the parent's maximum hold, the parent's answers are too short for the child's TTL. The
// child's lease then ends before the parent's.
func TestAnInheritedLeaseEndsBeforeTheMaximumHold(t *testing.T) {
	parent := acquire(t, locker(t, memlock.New()), "job", rowlock.TTL(time.Second), rowlock.MaxHold(2*time.Second))
	l := bequeath(t, parent)
	ctx, lease, err := rowlock.FromEnvironment(t.Context())
	require.NoError(t, err)
	defer lease.Release(ctx) //nolint:errcheck // it ends the connection
	<-ctx.Done()
	assert.False(t, lease.ExpiresAt().After(parent.ExpiresAt()))
	require.ErrorIs(t, context.Cause(ctx), rowlock.ErrLost)
	assert.LessOrEqual(t, l.TTL, time.Second)
}

// Each reason for which a process cannot inherit a lease has its own error. The error for a malformed text names the
// field.
func TestTheErrorSaysWhyNoLeaseIsInherited(t *testing.T) {
	from := func(text string) error {
		t.Setenv(inherit.Variable, text)
		ctx, lease, err := rowlock.FromEnvironment(t.Context())
		assert.Nil(t, ctx)
		assert.Nil(t, lease)
		return err
	}
	require.ErrorIs(t, from(""), rowlock.ErrNoLease)
	require.EqualError(t, from("x"), "rowlock: ROWLOCK_LEASE: is not a JSON object")

	parent := acquire(t, locker(t, memlock.New()), "job")
	l := bequeath(t, parent)
	text := l.String()
	err := from(strings.Replace(text, `"version":1`, `"version":2`, 1))
	require.EqualError(t, err, "rowlock: ROWLOCK_LEASE: version: 2: this program understands version 1")
	err = from(strings.Replace(text, `"token":"`, `"token":"x`, 1))
	require.ErrorContains(t, err, "rowlock: ROWLOCK_LEASE: token: ")

	other := l
	other.Nonce = driver.NewNonce()
	require.ErrorIs(t, from(other.String()), rowlock.ErrLost, "the parent holds another lease")
	other = l
	other.Keeper = filepath.Join(t.TempDir(), "gone")
	require.ErrorIs(t, from(other.String()), rowlock.ErrLost)
	if os.Getuid() != 0 { // root may open every socket
		require.NoError(t, os.Chmod(l.Keeper, 0))
		require.ErrorIs(t, from(text), rowlock.ErrUnavailable)
		require.NoError(t, os.Chmod(l.Keeper, 0o700))
	}
	require.NoError(t, parent.Release(t.Context()))
	require.ErrorIs(t, from(text), rowlock.ErrLost)
}

// A child does not wait for its parent's lock, because the parent waits for the child. It is refused as a nested acquire
// is: by the first reply of the store that names the grant which its ctx carries. Other locks are not refused.
func TestAChildDoesNotWaitForItsParent(t *testing.T) {
	for name, opts := range map[string][]rowlock.Option{"exclusive": nil, "shared": {rowlock.Shared()}} {
		t.Run(name, func(t *testing.T) {
			store := memlock.New()
			parent := acquire(t, locker(t, store), "job", opts...)
			bequeath(t, parent)
			ctx, _, err := rowlock.FromEnvironment(t.Context())
			require.NoError(t, err)
			refused := func(err error) {
				t.Helper()
				require.ErrorIs(t, err, rowlock.ErrNested)
				require.ErrorIs(t, err, rowlock.ErrHeld)
			}
			none := func(context.Context, *rowlock.Lease) error { return errors.New("ran") }
			all := func(context.Context, *rowlock.Leases) error { return errors.New("ran") }
			for _, backend := range []driver.Backend{store, inQueue{store}} {
				child := locker(t, backend)
				refused(child.Do(ctx, "job", none))
				refused(child.TryDo(ctx, "job", none))
				refused(child.DoAll(ctx, []string{"another", "job"}, all))
				refused(child.DoAny(ctx, []string{"job"}, none))
				require.NoError(t, child.DoAny(ctx, []string{"another", "job"}, func(context.Context, *rowlock.Lease) error { return nil }))
			}
			elsewhere := locker(t, memlock.New())
			again, err := elsewhere.TryAcquire(ctx, "job")
			require.NoError(t, err)
			require.NoError(t, again.Release(ctx))
			require.NoError(t, parent.Release(t.Context()))
			<-ctx.Done()
		})
	}
}

// inQueue is a store in whose queue a request waits.
type inQueue struct{ *memlock.Backend }

// Await waits until the function held ends the wait.
func (q inQueue) Await(ctx context.Context, r driver.Request, held func(*driver.Held) context.Context) (driver.Grant, error) {
	g, err := q.Acquire(ctx, r)
	var refusal *driver.Held
	if errors.As(err, &refusal) {
		<-held(refusal).Done()
	}
	return g, err
}

// If the parent is suspended, the error says that the parent does not answer, and not that the store is unavailable.
func TestTheErrorOfASilentParentNamesTheParent(t *testing.T) {
	socket, err := net.Listen("unix", filepath.Join(t.TempDir(), "s")) //nolint:noctx // it is local
	require.NoError(t, err)
	defer socket.Close()
	l := inherit.Lease{
		Key: driver.Key{Name: "job"}, Token: 7, Nonce: driver.NewNonce(), Holder: "the parent", Domain: "memlock", TTL: time.Minute,
		Keeper: socket.Addr().String(),
	}
	t.Setenv(inherit.Variable, l.String())
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel() // after the question has arrived
		conn, err := socket.Accept()
		if assert.NoError(t, err) {
			t.Cleanup(func() { _ = conn.Close() })
			_, err = conn.Read(make([]byte, 1))
			assert.NoError(t, err)
		}
	}()
	_, _, err = rowlock.FromEnvironment(ctx)
	require.ErrorIs(t, err, rowlock.ErrUnavailable)
	require.ErrorContains(t, err, `rowlock: inherit "job": the process that holds the lock does not answer`)
	require.NotContains(t, err.Error(), "store")
}
