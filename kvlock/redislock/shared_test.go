package redislock_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// share makes a request for a share of "job" with a new nonce.
func share(ttl time.Duration) driver.Request {
	r := redistest.Request("job")
	r.Shared, r.TTL = true, ttl
	return r
}

// advance moves the clock of "job" forward, and returns its time. The clock of a lock never goes back, so the next
// requests see at least this time.
func advance(tb testing.TB, c redis.UniversalClient, by time.Duration) (now int64) {
	tb.Helper()
	now, err := c.HGet(context.Background(), job, "clock").Int64()
	require.NoError(tb, err)
	now += by.Microseconds()
	require.NoError(tb, c.HSet(context.Background(), job, "clock", now).Err())
	return now
}

// A lock stays held until the last of its shares expires, whatever the TTLs of the shares are and in whatever order
// they are granted, renewed and released. The state of the lock says how many shares there are.
func TestSharesWithDifferentTTLs(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := redistest.Connect(t, redistest.Start(t).Addr)
	b := redislock.New(c)
	shares := make(map[driver.Nonce]driver.Grant)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same steps in each run
	pick := func() driver.Grant {
		all := slices.SortedFunc(maps.Values(shares), func(x, y driver.Grant) int { return int(x.TTL - y.TTL) })
		return all[random.IntN(len(all))]
	}
	const step = time.Hour // no step of the test takes so long
	ttl := func() time.Duration { return time.Duration(1+random.IntN(100)) * step }
	token := redistest.Acquire(t, b, share(ttl())).Token
	require.NoError(t, b.ForceRelease(ctx, driver.Key{Name: "job"}, token, true))
	for range 300 {
		switch n := random.IntN(10); {
		case len(shares) < 2 || n < 4:
			g := redistest.Acquire(t, b, share(ttl()))
			shares[g.Nonce] = g
		case n < 7:
			g := pick()
			g.TTL = ttl()
			outcomes, err := b.Renew(ctx, []driver.Grant{g})
			require.NoError(t, err)
			require.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
			shares[g.Nonce] = g
		default:
			g := pick()
			require.NoError(t, b.Release(ctx, g))
			delete(shares, g.Nonce)
		}
		var longest time.Duration
		for _, g := range shares {
			longest = max(longest, g.TTL)
		}
		s, err := b.Inspect(ctx, driver.Key{Name: "job"})
		require.NoError(t, err)
		require.Equal(t, driver.StateHeld, s.State)
		require.Equal(t, len(shares), s.Readers)
		require.InDelta(t, longest, s.ExpiresIn, float64(step))
		require.InDelta(t, longest, s.FreeIn, float64(step))
		require.InDelta(t, longest+redislock.DefaultRetention, c.PTTL(ctx, job).Val(), float64(101*step))
		require.Greater(t, c.PTTL(ctx, job).Val(), longest)
	}
	for _, g := range shares {
		require.NoError(t, b.Release(ctx, g))
	}
	assert.Empty(t, shareFields(t, c))
	require.NoError(t, b.Release(ctx, redistest.Acquire(t, b, redistest.Request("job"))))
}

// Each share has its own expiry, by the server's clock. An expired share is not renewed. The expiry of the last share
// frees the lock, and the next writer removes the fields of all shares.
func TestSharesExpire(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := redistest.Connect(t, redistest.Start(t).Addr)
	b := redislock.New(c)
	var grants []driver.Grant
	for _, minutes := range []time.Duration{10, 40, 20, 30} {
		grants = append(grants, redistest.Acquire(t, b, share(minutes*time.Minute)))
	}
	advance(t, c, 25*time.Minute)
	assert.Equal(t, 2, refused(t, b).Readers)
	outcomes, err := b.Renew(ctx, grants)
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Lost, driver.Renewed, driver.Lost, driver.Renewed}, outcomes)
	require.NoError(t, b.Release(ctx, grants[0]), "the epoch token is still the newest token")
	require.NoError(t, b.Release(ctx, grants[1]))
	s, err := b.Inspect(ctx, grants[0].Key)
	require.NoError(t, err)
	assert.Equal(t, 1, s.Readers)
	advance(t, c, 2*time.Hour)
	s, err = b.Inspect(ctx, grants[0].Key)
	require.NoError(t, err)
	assert.Equal(t, driver.StateExpired, s.State)
	assert.Zero(t, s.Readers)
	g := redistest.Acquire(t, b, redistest.Request("job"))
	assert.Greater(t, g.Token, grants[3].Token)
	assert.Empty(t, shareFields(t, c))
	require.ErrorIs(t, b.Release(ctx, grants[3]), driver.ErrNotHeld)
	require.NoError(t, b.Release(ctx, g))

	redistest.Acquire(t, b, share(time.Minute))
	redistest.Acquire(t, b, share(2*time.Minute))
	old := redistest.Acquire(t, b, share(3*time.Minute))
	advance(t, c, 3*time.Hour)
	next := redistest.Acquire(t, b, share(time.Minute))
	assert.Greater(t, next.Token, old.Token, "a share that joins no other share begins an epoch")
	s, err = b.Inspect(ctx, next.Key)
	require.NoError(t, err)
	assert.Equal(t, 1, s.Readers)
	assert.Empty(t, shareFields(t, c), "the expired shares were removed")
}

// If a writer is refused because of readers, and waits, further readers are refused for three seconds. They are also
// refused after the last reader has released its share. Readers that have a share keep it. The three seconds end early
// when the writer is granted the lock.
func TestAWriterThatWaitsKeepsOutReaders(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := redistest.Connect(t, redistest.Start(t).Addr)
	b := redislock.New(c)
	reading := share(time.Hour)
	g := redistest.Acquire(t, b, reading)
	assert.Equal(t, 1, refused(t, b).Readers)
	assert.Equal(t, g.Token, redistest.Acquire(t, b, share(time.Minute)).Token, "a writer that does not wait keeps out nobody")
	writing := redistest.Request("job")
	writing.Waits = true
	noted := func() {
		t.Helper()
		_, err := b.Acquire(ctx, writing)
		require.ErrorAs(t, err, new(*driver.Held))
	}
	kept := func(left time.Duration) *driver.Held {
		t.Helper()
		_, err := b.Acquire(ctx, share(time.Hour))
		var held *driver.Held
		require.ErrorAs(t, err, &held)
		assert.Equal(t, driver.Reserved, held.Reason)
		assert.Positive(t, held.ExpiresIn)
		assert.LessOrEqual(t, held.ExpiresIn, left)
		return held
	}
	stay := func() { // extends the three seconds to an hour, because a slow machine may need more than three seconds
		require.NoError(t, c.HSet(ctx, job, "writer_until", advance(t, c, 0)+time.Hour.Microseconds()).Err())
	}
	earliest := c.Time(ctx).Val().Add(driver.WriterReserve)
	noted()
	latest := c.Time(ctx).Val().Add(driver.WriterReserve)
	until, err := c.HGet(ctx, job, "writer_until").Int64()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, until, earliest.UnixMicro())
	assert.LessOrEqual(t, until, latest.UnixMicro())
	stay()
	assert.Equal(t, 2, kept(time.Hour).Readers)
	outcomes, err := b.Renew(ctx, []driver.Grant{g})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
	assert.Equal(t, g.Token, redistest.Acquire(t, b, reading).Token, "the same request repeated")
	advance(t, c, 2*time.Hour) // both shares expire, and readers are no longer refused because of the writer
	g = redistest.Acquire(t, b, share(24*time.Hour))
	noted()
	stay()
	require.NoError(t, b.Release(ctx, g))
	kept(time.Hour)
	g = redistest.Acquire(t, b, writing)
	assert.Empty(t, shareFields(t, c))
	require.NoError(t, b.Release(ctx, g))
	g = redistest.Acquire(t, b, share(time.Hour))
	noted()
	require.NoError(t, b.ForceRelease(ctx, g.Key, g.Token, true))
	assert.Empty(t, shareFields(t, c), "a forced release ends the shares and the time of the writer")
	redistest.Acquire(t, b, share(time.Hour))
}

// read sends a request of p for a share, as a waiter. The share must be granted.
func (p *person) read(tb testing.TB) driver.Grant {
	tb.Helper()
	r := share(time.Hour)
	r.Waiting = true
	return redistest.Acquire(tb, p, r)
}

// The readers and writers of several processes wait in one queue. When a reader is granted a share, the script
// notifies the next process in the queue. So all readers up to the next writer hold shares at the same time, and no
// process polls. The writer keeps its place in the queue, and no reader behind it overtakes it.
func testReadersWakeEachOther(t *testing.T, open func() redis.UniversalClient) {
	holder := redislock.New(open())
	g := redistest.Acquire(t, holder, redistest.Request("job"))
	all := line(t, 6, open)
	for _, p := range all {
		shiftLife(t, p.client, p.Waiter(), time.Hour) // so that the waiter does not count as dead on a slow machine
	}
	require.NoError(t, holder.Release(t.Context(), g))
	all[0].called(t)
	stretch(t, all[0].client)
	readers := []driver.Grant{all[0].read(t)}
	all[1].called(t)
	all[1].stop() // gives up after its notification
	for _, p := range all[2:4] {
		p.called(t)
		readers = append(readers, p.read(t))
		assert.Equal(t, readers[0].Token, readers[len(readers)-1].Token)
	}
	writer, later := all[4], all[5]
	writer.called(t)
	r := redistest.Request("job")
	r.Waiting, r.Waits = true, true
	_, err := writer.Acquire(t.Context(), r)
	var held *driver.Held
	require.ErrorAs(t, err, &held)
	assert.Equal(t, len(readers), held.Readers)
	assert.Zero(t, held.Ahead, "the writer is still the first in the queue")
	assert.Empty(t, later.woken)
	shiftLife(t, later.client, writer.Waiter(), time.Hour)
	for i, p := range []*person{all[0], all[2], all[3]} {
		require.NoError(t, p.Release(t.Context(), readers[i]))
	}
	writer.called(t)
	stretch(t, writer.client)
	g = writer.take(t)
	assert.Greater(t, g.Token, readers[0].Token)
	later.drain() // the second process may be woken, because stretch makes the reservation longer than usual
	require.NoError(t, writer.Release(t.Context(), g))
	later.called(t)
	stretch(t, later.client)
	last := later.read(t)
	assert.Greater(t, last.Token, g.Token)
	require.NoError(t, later.Release(t.Context(), last))
}

func TestReadersWakeEachOther(t *testing.T) {
	t.Parallel()
	testReadersWakeEachOther(t, opener(t, redistest.Start(t).Addr))
}

// A reader for which a released lock is reserved has waited longer than the writer that keeps out readers, so it
// is granted its share.
func TestAReaderThatWaitedLongerIsNotKeptOut(t *testing.T) {
	t.Parallel()
	open := opener(t, redistest.Start(t).Addr)
	holder := redislock.New(open())
	g := redistest.Acquire(t, holder, share(time.Hour))
	reader := line(t, 1, open)[0]
	writing := redistest.Request("job")
	writing.Waits = true
	_, err := holder.Acquire(t.Context(), writing)
	require.ErrorAs(t, err, new(*driver.Held))
	require.NoError(t, reader.client.HSet(t.Context(), job, "writer_until", time.Now().Add(time.Hour).UnixMicro()).Err())
	require.NoError(t, holder.Release(t.Context(), g))
	reader.called(t)
	stretch(t, reader.client)
	assert.Greater(t, reader.read(t).Token, g.Token)
}

// The grant of a share contains the last tick of the lock. The renewal and the release of a share do not delete the
// tick.
func TestASharesTick(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := redistest.Connect(t, redistest.Start(t).Addr)
	b := redislock.New(c)
	g := redistest.Acquire(t, b, redistest.Request("job"))
	g.Done = "2026-11-24"
	require.NoError(t, b.Release(ctx, g))
	for range 2 {
		reading := redistest.Acquire(t, b, share(time.Minute))
		assert.Equal(t, g.Done, reading.Done)
		outcomes, err := b.Renew(ctx, []driver.Grant{reading})
		require.NoError(t, err)
		assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
		require.NoError(t, b.Release(ctx, reading))
		assert.Greater(t, c.PTTL(ctx, job).Val(), 50*365*24*time.Hour)
	}
}

// A guarded script runs for all readers that hold the lock together, and for none of them after the next writer has
// called Seal.
func TestGuardKnowsReaders(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := redistest.Connect(t, redistest.Start(t).Addr)
	b := redislock.New(c)
	before := redistest.Acquire(t, b, redistest.Request("job"))
	require.NoError(t, b.Release(ctx, before))
	one, two := redistest.Acquire(t, b, share(time.Hour)), redistest.Acquire(t, b, share(time.Hour))
	get := redislock.NewGuard("return redis.call('EXISTS', KEYS[1])")
	run := func(g driver.Grant) error {
		_, err := get.Run(ctx, c, "mark", g.Token, []string{"data"})
		return err
	}
	require.NoError(t, redislock.Seal(ctx, c, "mark", one.Token))
	require.ErrorIs(t, run(before), redislock.ErrStale)
	for _, g := range []driver.Grant{one, two, one} {
		require.NoError(t, run(g))
	}
	require.NoError(t, b.ForceRelease(ctx, one.Key, one.Token, true))
	after := redistest.Acquire(t, b, redistest.Request("job"))
	require.NoError(t, redislock.Seal(ctx, c, "mark", after.Token))
	for _, g := range []driver.Grant{one, two} {
		require.ErrorIs(t, run(g), redislock.ErrStale)
	}
}
