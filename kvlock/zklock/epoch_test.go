package zklock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/zklock"
)

// A writer that gives up does not end the epoch: a reader that waited behind the writer, and a reader that comes later,
// get the token of the readers that still hold the lock.
func TestAWriterThatGivesUpEndsNoEpoch(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	one, err := n.watching.Acquire(t.Context(), share("a"))
	require.NoError(t, err)
	ctx, giveUp := context.WithCancel(t.Context())
	writer := queued(t, n, open(t, n.servers, n.root), ctx, request("a"))
	behind := open(t, n.servers, n.root)
	r := share("a")
	waits := queued(t, n, behind, t.Context(), r)
	giveUp()
	require.ErrorIs(t, <-writer, context.Canceled)
	require.NoError(t, <-waits)
	two, err := behind.Acquire(t.Context(), r)
	require.NoError(t, err)
	three, err := n.watching.Acquire(t.Context(), share("a"))
	require.NoError(t, err)
	require.Equal(t, []driver.Token{one.Token, one.Token}, []driver.Token{two.Token, three.Token})
	status, err := n.watching.Inspect(t.Context(), one.Key)
	require.NoError(t, err)
	require.Equal(t, 3, status.Readers)
	require.Zero(t, status.Waiters)
}

// A reader between two writers, the first of which gives up, waits for the readers before it. It then begins an epoch,
// and the second writer waits for it.
func TestAReaderBetweenWritersWaitsForEarlierReaders(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	one, err := n.watching.Acquire(t.Context(), share("a"))
	require.NoError(t, err)
	ctx, giveUp := context.WithCancel(t.Context())
	first := queued(t, n, open(t, n.servers, n.root), ctx, request("a"))
	between := open(t, n.servers, n.root)
	r := share("a")
	waits := queued(t, n, between, t.Context(), r)
	second := queued(t, n, open(t, n.servers, n.root), t.Context(), request("a"))
	giveUp()
	require.ErrorIs(t, <-first, context.Canceled)
	status, err := n.watching.Inspect(t.Context(), one.Key)
	require.NoError(t, err)
	require.Equal(t, 1, status.Readers)
	require.Equal(t, 2, status.Waiters)
	require.Empty(t, waits)
	require.NoError(t, n.watching.Release(t.Context(), one))
	require.NoError(t, <-waits)
	require.Empty(t, second)
	two, err := between.Acquire(t.Context(), r)
	require.NoError(t, err)
	require.Greater(t, two.Token, one.Token)
	require.NoError(t, between.Release(t.Context(), two))
	require.NoError(t, <-second)
}

// After the servers have removed a lock's node, tokens still rise: the node of the first reader makes the token.
func TestTokensRiseAfterTheLocksNodeWasRemoved(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	var last driver.Token
	for _, r := range []driver.Request{share("a"), request("a"), share("a"), share("a"), request("a")} {
		g, err := n.watching.Acquire(t.Context(), r)
		require.NoError(t, err)
		require.Greater(t, g.Token, last)
		last = g.Token
		require.NoError(t, n.watching.Release(t.Context(), g))
		require.NoError(t, n.direct.Delete(n.watching.Container(r.Key), -1))
	}
}

// A forced release ends all readers of an epoch, but not a writer that waits. The writer's token is larger.
func TestAForcedReleaseEndsTheEpoch(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	var grants []driver.Grant
	for range 5 {
		g, err := n.watching.Acquire(t.Context(), share("a"))
		require.NoError(t, err)
		grants = append(grants, g)
	}
	b := open(t, n.servers, n.root)
	r := request("a")
	writer := queued(t, n, b, t.Context(), r)
	require.ErrorAs(t, n.watching.ForceRelease(t.Context(), r.Key, grants[0].Token, false), new(*driver.Held))
	require.NoError(t, n.watching.ForceRelease(t.Context(), r.Key, grants[0].Token, true))
	require.NoError(t, <-writer)
	outcomes, err := n.watching.Renew(t.Context(), grants)
	require.NoError(t, err)
	for _, o := range outcomes {
		require.Equal(t, driver.Lost, o)
	}
	g, err := b.Acquire(t.Context(), r)
	require.NoError(t, err)
	require.Greater(t, g.Token, grants[0].Token)
}

// A reader's guard fails when that reader's own lease has ended, although other readers hold the lock.
func TestAReadersGuardIsItsOwn(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	one, err := n.watching.Acquire(t.Context(), share("a"))
	require.NoError(t, err)
	lease, err := lockerOn(t, n.watching, rowlock.Shared()).Acquire(t.Context(), "a")
	require.NoError(t, err)
	guard, err := n.watching.Guard(lease)
	require.NoError(t, err)
	_, err = n.direct.Multi(guard)
	require.NoError(t, err)
	require.NoError(t, lease.Release(t.Context()))
	_, err = n.direct.Multi(guard)
	require.ErrorIs(t, err, zk.ErrNoNode)
	outcomes, err := n.watching.Renew(t.Context(), []driver.Grant{one})
	require.NoError(t, err)
	require.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
}

// Readers and writers of several processes use one name, and some of them give up. A writer never holds the name at
// the same time as another holder. Readers that hold the name at the same time have the same token. Tokens rise from
// each writer to the next writer or group of readers, and from each group of readers to the next writer.
func TestReadersAndWritersOfSeveralProcesses(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, server(t))
	const processes, rounds = 6, 15
	var held holders
	var group sync.WaitGroup
	for i := range processes {
		b := open(t, n.servers, n.root)
		for j := range 2 {
			group.Go(func() {
				for k := range rounds {
					r := request("a")
					r.Shared = (i+j+k)%3 != 0
					held.once(t, b, r, k%4)
				}
			})
		}
	}
	group.Wait()
	t.Logf("%d grants to writers, %d to readers, %d of them beside another reader; %d refusals", held.writers, held.readers, held.beside, held.refused)
	require.NotZero(t, held.writers)
	require.NotZero(t, held.beside)
}

// holders records the current grants of one name, and checks each new grant against them.
type holders struct {
	mu                                sync.Mutex
	token                             driver.Token
	reading, writing                  int
	epoch                             bool // the last grant was a reader's
	writers, readers, beside, refused int
}

func (h *holders) once(t *testing.T, b *zklock.Backend, r driver.Request, how int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var g driver.Grant
	var err error
	switch how {
	case 0:
		g, err = b.Acquire(ctx, r)
	case 1:
		g, err = b.Await(ctx, r, func(*driver.Held) context.Context {
			brief, stop := context.WithTimeout(ctx, 3*time.Millisecond)
			context.AfterFunc(brief, stop)
			return brief
		})
	default:
		g, err = enter(ctx, b, r)
	}
	h.mu.Lock()
	if err != nil {
		h.refused++
		h.mu.Unlock()
		assert.NoError(t, ctx.Err())
		return
	}
	assert.Zero(t, h.writing, "a grant beside a writer")
	if r.Shared {
		if h.reading > 0 {
			h.beside++
			assert.Equal(t, h.token, g.Token, "readers that overlap have one token")
		} else {
			assert.GreaterOrEqual(t, g.Token, h.token)
			assert.True(t, h.epoch || g.Token > h.token, "an epoch after a writer has a larger token")
		}
		h.reading++
		h.readers++
	} else {
		assert.Zero(t, h.reading, "a writer beside readers")
		assert.Greater(t, g.Token, h.token, "a writer's token is the largest")
		h.writing++
		h.writers++
	}
	h.token, h.epoch = max(h.token, g.Token), r.Shared
	h.mu.Unlock()
	outcomes, err := b.Renew(ctx, []driver.Grant{g}) // also gives other readers time to be granted the lock
	assert.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
	h.mu.Lock()
	if r.Shared {
		h.reading--
	} else {
		h.writing--
	}
	h.mu.Unlock()
	assert.NoError(t, b.Release(ctx, g))
}
