package advisory_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
)

// A refusal names the session that holds the lock, as the server reports it.
func TestRefusalNamesTheSession(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	w := watch(t, dsn)
	a, b := advisory.New(openPool(t, dsn+"&application_name=billing")), advisory.New(openPool(t, dsn))
	acquire(t, a, "x")
	pid := w.number("SELECT min(pid)" + here)
	assert.Equal(t, fmt.Sprintf("session %d of postgres from 127.0.0.1 (billing)", pid), refused(t, b, "x").Holder)
	_, err := locker(t, b).TryAcquire(t.Context(), "x")
	require.ErrorContains(t, err, "(billing)")
	held := refused(t, a, "x")
	assert.Equal(t, "tester", held.Holder, "the holder in the same process is known by name")
	assert.Positive(t, held.Token)
	share(t, a, "y")
	share(t, b, "y")
	held = refused(t, advisory.New(openPool(t, dsn)), "y")
	assert.Equal(t, 2, held.Readers)
}

// List shows the locks of this backend by name and other locks by key. Inspect tells for any name whether its lock is
// held.
func TestInspector(t *testing.T) {
	eachPool(t, func(t *testing.T, open func(string, ...advisory.Option) *advisory.Backend) {
		dsn := database(t)
		a, b := open(dsn), open(dsn)
		mine, theirs := acquire(t, a, "mine"), driver.Key{Name: "theirs"}
		r := request("other")
		r.Key.Namespace = "ns"
		inNamespace, err := a.Acquire(t.Context(), r)
		require.NoError(t, err)
		t.Cleanup(func() { _ = a.Release(context.Background(), inNamespace) })
		acquire(t, b, theirs.Name)

		got, err := a.Inspect(t.Context(), mine.Key)
		require.NoError(t, err)
		assert.Equal(t, driver.StateHeld, got.State)
		assert.Equal(t, mine.Token, got.Token)
		assert.Equal(t, "tester", got.Holder)
		got, err = a.Inspect(t.Context(), theirs)
		require.NoError(t, err)
		assert.Equal(t, driver.StateHeld, got.State)
		assert.Zero(t, got.Token)
		assert.Contains(t, got.Holder, "session ")
		assert.Positive(t, got.Age)
		free, err := a.Inspect(t.Context(), driver.Key{Name: "free"})
		require.NoError(t, err)
		assert.Equal(t, driver.Status{Key: driver.Key{Name: "free"}}, free)

		names := func(namespace string, all bool) (names []string) {
			list, err := a.List(t.Context(), namespace, all)
			require.NoError(t, err)
			for _, s := range list {
				names = append(names, s.Key.String())
			}
			return names
		}
		assert.Equal(t, []string{"mine"}, names("", false))
		assert.Equal(t, []string{"ns/other"}, names("ns", false))
		unnamed := fmt.Sprintf("key %016x", uint64(advisory.Key("", "theirs")))
		assert.Equal(t, []string{unnamed, "mine", "ns/other"}, names("", true))
		pruned, err := a.Prune(t.Context(), 0)
		require.NoError(t, err)
		assert.Zero(t, pruned)
	})
}

// ForceRelease ends the holder's session only if live is true and the token matches. The next token is larger,
// so the old holder is fenced.
func TestForceRelease(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	a, b := advisory.New(openPool(t, dsn)), advisory.New(openPool(t, dsn))
	lease, err := locker(t, a).Acquire(t.Context(), "x")
	require.NoError(t, err)
	key := driver.Key{Name: "x"}
	var held *driver.Held
	require.ErrorAs(t, b.ForceRelease(t.Context(), key, 0, false), &held)
	require.ErrorIs(t, b.ForceRelease(t.Context(), key, lease.Token(), true), driver.ErrNotHeld, "the token of another process's lock is unknown")
	require.ErrorIs(t, b.ForceRelease(t.Context(), driver.Key{Name: "free"}, 0, true), driver.ErrNotHeld)
	require.NoError(t, lease.Err())
	require.NoError(t, b.ForceRelease(t.Context(), key, 0, true))
	<-lease.Context().Done()
	require.ErrorIs(t, lease.Err(), rowlock.ErrLost)
	next, err := locker(t, b).Acquire(t.Context(), "x")
	require.NoError(t, err)
	assert.Greater(t, next.Token(), lease.Token())
}

// during is a query tracer. It calls the function do once, just before the first statement that contains text is sent.
type during struct {
	text string
	once sync.Once
	do   func()
}

func (d *during) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.Contains(data.SQL, d.text) {
		d.once.Do(d.do)
	}
	return ctx
}

func (*during) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// ForceRelease ends only the holder with the given token. It does not end a later holder,
// whether that is in another process or in this process on the same connection.
func TestForceReleaseEndsNoLaterHolder(t *testing.T) {
	t.Parallel()
	for name, elsewhere := range map[string]bool{"in another process": true, "in this process": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := database(t)
			forced := &during{text: "pg_terminate_backend"}
			a := advisory.New(openPool(t, dsn, func(c *pgxpool.Config) { c.ConnConfig.Tracer = forced }))
			next := a
			if elsewhere {
				next = advisory.New(openPool(t, dsn))
			}
			seen, granted := acquire(t, a, "x"), driver.Grant{}
			tried := false
			forced.do = func() { // tries to release the lock, and then lets the next holder acquire it
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				tried = true
				if a.Release(ctx, seen) == nil {
					granted = acquire(t, next, "x")
				}
			}
			err := a.ForceRelease(limited(t), seen.Key, seen.Token, true)
			require.True(t, tried)
			if err != nil {
				require.ErrorIs(t, err, driver.ErrNotHeld)
			}
			if granted.Token != 0 {
				outcomes, err := next.Renew(limited(t), []driver.Grant{granted})
				require.NoError(t, err)
				assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes, "the later holder")
				return
			}
			<-seen.Session.Done()
			require.Eventually(t, func() bool {
				granted, err = next.Acquire(limited(t), request("x"))
				return err == nil
			}, 20*time.Second, time.Millisecond, "the lock is free")
			require.NoError(t, next.Release(limited(t), granted))
		})
	}
}
