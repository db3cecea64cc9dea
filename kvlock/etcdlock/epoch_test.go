package etcdlock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// book records the current grants of one name, and checks each new grant against them.
type book struct {
	mu      sync.Mutex
	writing bool
	readers int
	epoch   driver.Token // the token of the last reader
	highest driver.Token // the largest token of a writer
	writers int          // grants of writers so far
	epochs  int
}

func (k *book) enter(t *testing.T, g driver.Grant) {
	k.mu.Lock()
	defer k.mu.Unlock()
	assert.False(t, k.writing, "a grant beside a writer")
	if !g.Shared {
		assert.Zero(t, k.readers, "a writer beside readers")
		assert.Greater(t, g.Token, k.highest, "a writer's token")
		assert.Greater(t, g.Token, k.epoch, "a writer's token after an epoch")
		k.writing, k.highest = true, g.Token
		k.writers++
		return
	}
	assert.Greater(t, g.Token, k.highest, "an epoch's token after a writer")
	switch {
	case k.readers > 0:
		assert.Equal(t, k.epoch, g.Token, "two readers at once")
	case g.Token != k.epoch:
		assert.Greater(t, g.Token, k.epoch, "a new epoch's token")
		k.epochs++
	}
	k.epoch = g.Token
	k.readers++
}

func (k *book) leave(g driver.Grant) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if g.Shared {
		k.readers--
	} else {
		k.writing = false
	}
}

// Readers and writers of several clients use one name. A writer is never granted beside another grant. All readers
// that hold the name at the same time have one token. Tokens rise from each writer to the readers after it, and from
// readers to the writer after them. Some callers make one attempt without waiting, and some give up while they wait.
func TestTokensOfReadersAndWriters(t *testing.T)       { onOneNode(t, tokensOfReadersAndWriters) }
func TestCompatTokensOfReadersAndWriters(t *testing.T) { onThreeNodes(t, tokensOfReadersAndWriters) }

func tokensOfReadersAndWriters(t *testing.T, n *network) {
	const clients, callers, rounds = 3, 4, 15
	var k book
	var group sync.WaitGroup
	sweeping, stop := context.WithCancel(t.Context())
	defer stop()
	for c := range clients {
		b, err := n.open()
		require.NoError(t, err)
		// A request that is cancelled on its way may leave a key at the head of the queue, until its session is renewed.
		// Other locks of the process would renew it.
		swept := make(chan struct{})
		go func() {
			defer close(swept)
			for sweeping.Err() == nil {
				b.Sweep(sweeping)
				time.Sleep(50 * time.Millisecond)
			}
		}()
		defer func() { stop(); <-swept }()
		for i := range callers {
			group.Go(func() {
				for round := range rounds {
					r := request("a")
					r.Shared = (c+i+round)%3 != 0
					k.once(t, b, r, (i+round)%5)
				}
			})
		}
	}
	group.Wait()
	require.Positive(t, k.writers)
	require.Positive(t, k.epochs)
	t.Logf("%d grants of writers, %d epochs", k.writers, k.epochs)
}

// once makes one attempt, and releases the lock if it is granted. The parameter how chooses an attempt without waiting, an
// attempt that is cancelled after a short time, or an attempt that waits.
func (k *book) once(t *testing.T, b *etcdlock.Backend, r driver.Request, how int) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var g driver.Grant
	var err error
	switch how {
	case 0:
		g, err = b.Acquire(ctx, r)
	case 1:
		time.AfterFunc(3*time.Millisecond, cancel)
		fallthrough
	default:
		g, err = inQueue(b, ctx, r)
	}
	if err == nil {
		k.enter(t, g)
		k.leave(g)
		assert.NoError(t, b.Release(t.Context(), g))
		return
	}
	assert.True(t, ctx.Err() != nil || assert.ErrorAs(t, err, new(*driver.Held)), "%v", err)
	_ = b.Release(t.Context(), driver.Grant{Key: r.Key, Nonce: r.Nonce, TTL: r.TTL, Shared: r.Shared})
}

// keys returns how many keys the locks of n have in etcd, apart from the keys of sessions.
func (n *network) keys(t *testing.T, key driver.Key) int {
	t.Helper()
	at := n.watching.Queue(key)
	reply, err := n.direct.Get(t.Context(), at[:len(at)-len("%-")], clientv3.WithPrefix(), clientv3.WithCountOnly())
	require.NoError(t, err)
	return int(reply.Count)
}

// A free name has no key in etcd after the releases of writers and of readers. If the last reader dies, the key of the
// epoch remains. List does not show this key as a lock, and Prune deletes it. Tokens still rise after the key was left
// behind, and after Prune has deleted it.
func TestTheKeyOfAnEpoch(t *testing.T)       { onOneNode(t, theKeyOfAnEpoch) }
func TestCompatTheKeyOfAnEpoch(t *testing.T) { onThreeNodes(t, theKeyOfAnEpoch) }

func theKeyOfAnEpoch(t *testing.T, n *network) {
	key := driver.Key{Name: "a"}
	for _, r := range []driver.Request{request("a"), reading("a")} {
		g, err := n.watching.Acquire(t.Context(), r)
		require.NoError(t, err)
		require.NoError(t, n.watching.Release(t.Context(), g))
		require.Zero(t, n.keys(t, key))
	}
	dies := func() driver.Token {
		b, err := n.open()
		require.NoError(t, err)
		g, err := b.Acquire(t.Context(), reading("a"))
		require.NoError(t, err)
		require.NoError(t, n.Expire(t.Context(), key))
		require.Equal(t, 1, n.keys(t, key))
		return g.Token
	}
	require.Equal(t, dies(), dies(), "nobody else has held the lock between the two readers")
	list, err := n.watching.List(t.Context(), "", true)
	require.NoError(t, err)
	require.Empty(t, list)
	status, err := n.watching.Inspect(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, driver.Status{Key: key}, status)

	before := dies()
	count, err := n.watching.Prune(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Zero(t, count)
	require.Zero(t, n.keys(t, key))
	after := dies()
	require.Greater(t, after, before)

	for _, acquire := range []func(*etcdlock.Backend, context.Context, driver.Request) (driver.Grant, error){(*etcdlock.Backend).Acquire, inQueue} {
		before := dies()
		g, err := acquire(n.watching, t.Context(), request("a"))
		require.NoError(t, err)
		require.Greater(t, g.Token, before)
		require.Equal(t, 1, n.keys(t, key), "the writer ends the epoch")
		require.NoError(t, n.watching.Release(t.Context(), g))
		require.Greater(t, dies(), g.Token)
	}
}

// Prune keeps the epoch of a lock that readers hold.
func TestPruneKeepsTheEpochOfReaders(t *testing.T) {
	t.Parallel()
	b := etcdlock.New(connect(t, server(t)), prefix())
	first, err := b.Acquire(t.Context(), reading("a"))
	require.NoError(t, err)
	_, err = b.Prune(t.Context(), 0)
	require.NoError(t, err)
	second, err := b.Acquire(t.Context(), reading("a"))
	require.NoError(t, err)
	require.Equal(t, first.Token, second.Token)
}

// The readers of a name are counted without the readers that wait behind a writer. A reader that is refused because of a
// waiting writer learns that the name is reserved.
func TestReadersAreCounted(t *testing.T)       { onOneNode(t, readersAreCounted) }
func TestCompatReadersAreCounted(t *testing.T) { onThreeNodes(t, readersAreCounted) }

func readersAreCounted(t *testing.T, n *network) {
	b := n.watching
	var last driver.Grant
	for i := range 3 {
		r := reading("a")
		r.Holder = fmt.Sprint("reader ", i)
		var err error
		last, err = b.Acquire(t.Context(), r)
		require.NoError(t, err)
	}
	queuedGrant(t, n, b, t.Context(), request("a"))
	queuedGrant(t, n, b, t.Context(), reading("a"))
	want := driver.Held{Holder: "reader 2", Token: last.Token, Readers: 3}
	var held *driver.Held
	_, err := b.Acquire(t.Context(), request("a"))
	require.ErrorAs(t, err, &held)
	require.Equal(t, want, *held)
	_, err = b.Acquire(t.Context(), reading("a"))
	require.ErrorAs(t, err, &held)
	want.Reason = driver.Reserved
	require.Equal(t, want, *held)
	status, err := b.Inspect(t.Context(), last.Key)
	require.NoError(t, err)
	require.Equal(t, []any{driver.StateHeld, "reader 2", last.Token, 3, 2}, []any{status.State, status.Holder, status.Token, status.Readers, status.Waiters})
	require.Positive(t, status.FreeIn)
	list, err := b.List(t.Context(), "", false)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, []any{"reader 2", last.Token, 3, 2}, []any{list[0].Holder, list[0].Token, list[0].Readers, list[0].Waiters})
}

// A forced release ends the shares of all processes. Each process stops trusting its shares at once, without a
// renewal. The next reader gets a larger token, so the old readers can be fenced. A writer that waits is granted the
// name, and readers behind that writer continue to wait.
func TestAForcedReleaseOfReaders(t *testing.T)       { onOneNode(t, aForcedReleaseOfReaders) }
func TestCompatAForcedReleaseOfReaders(t *testing.T) { onThreeNodes(t, aForcedReleaseOfReaders) }

func aForcedReleaseOfReaders(t *testing.T, n *network) {
	var ends []context.Context
	var g driver.Grant
	for range 2 {
		b, err := n.open()
		require.NoError(t, err)
		for range 2 {
			g, err = b.Acquire(t.Context(), reading("a"))
			require.NoError(t, err)
			ends = append(ends, g.Session)
		}
		kept, err := b.Acquire(t.Context(), reading("b"))
		require.NoError(t, err)
		lease, err := n.direct.Get(t.Context(), b.EntryOf(kept.Nonce))
		require.NoError(t, err)
		at := b.SessionKey(clientv3.LeaseID(lease.Kvs[0].Lease))
		require.Eventually(t, func() bool {
			reply, err := n.direct.Get(t.Context(), at)
			return err == nil && reply.Count == 1
		}, 20*time.Second, 5*time.Millisecond)
		defer func() { require.NoError(t, kept.Session.Err(), "the shares of other names stay") }()
	}
	waits := queuedGrant(t, n, n.watching, t.Context(), request("a"))
	var held *driver.Held
	require.ErrorAs(t, n.watching.ForceRelease(t.Context(), g.Key, g.Token, false), &held)
	require.Equal(t, 4, held.Readers)
	require.ErrorIs(t, n.watching.ForceRelease(t.Context(), g.Key, g.Token-1, true), driver.ErrNotHeld)
	require.NoError(t, n.watching.ForceRelease(t.Context(), g.Key, g.Token, true))
	for _, end := range ends {
		requireOver(t, end, "its release was forced")
	}
	writer := <-waits
	require.NoError(t, writer.err)
	require.Greater(t, writer.Token, g.Token)
	require.NoError(t, n.watching.Release(t.Context(), writer.Grant))

	first, err := n.watching.Acquire(t.Context(), reading("a"))
	require.NoError(t, err)
	require.Greater(t, first.Token, writer.Token)
	require.NoError(t, n.watching.ForceRelease(t.Context(), g.Key, first.Token, true))
	second, err := n.watching.Acquire(t.Context(), reading("a"))
	require.NoError(t, err)
	require.Greater(t, second.Token, first.Token, "no writer came between")
}
