package advisory_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/contest"
)

// One session holds several shares of a name and an exclusive grant of another name. Each grant is renewed and released
// separately. The shares have no token.
func TestSharesOnOneSession(t *testing.T) {
	eachPool(t, func(t *testing.T, open func(string, ...advisory.Option) *advisory.Backend) {
		dsn := database(t)
		a, b, w := open(dsn), open(dsn), watch(t, dsn)
		first, second, alone := share(t, a, "x"), share(t, a, "x"), acquire(t, a, "y")
		assert.Equal(t, 1, w.sessions())
		assert.Zero(t, first.Token)
		assert.Zero(t, second.Token)
		assert.Positive(t, alone.Token)
		third := share(t, b, "x")
		outcomes, err := a.Renew(t.Context(), []driver.Grant{first, alone, second, third})
		require.NoError(t, err)
		assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed, driver.Renewed, driver.Lost}, outcomes)
		for _, g := range []driver.Grant{first, second} {
			refused(t, a, "x")
			refused(t, b, "x")
			refuse(t, a, reading("y"))
			require.NoError(t, a.Release(t.Context(), g))
			require.NoError(t, a.Release(t.Context(), g), "a repeated release")
		}
		refused(t, a, "x")
		require.NoError(t, b.Release(t.Context(), third))
		g := acquire(t, a, "x")
		refuse(t, a, reading("x"))
		refuse(t, b, reading("x"))
		require.NoError(t, a.Release(t.Context(), g))
		require.NoError(t, a.Release(t.Context(), alone))
		assert.Zero(t, w.locks())
	})
}

// Shared requests wait until the exclusive holder releases the lock, and are then all granted at the same time.
func TestQueueOfReaders(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	w := watch(t, dsn)
	a, b, c := advisory.New(openPool(t, dsn)), advisory.New(openPool(t, dsn)), advisory.New(openPool(t, dsn))
	g := acquire(t, a, "a")
	first, failed := w.waitFor(limited(t), b, reading("a"))
	second := make(chan error, 1)
	go func() {
		g, err := contest.Wait(limited(t), c, reading("a"))
		if err == nil {
			err = c.Release(limited(t), g)
		}
		second <- err
	}()
	require.NoError(t, a.Release(limited(t), g))
	one := contest.Granted(t, first, failed)
	require.NoError(t, <-second, "while the first is held")
	require.NoError(t, b.Release(limited(t), one))
}

// A writer that waits longer than one wait on the server reserves the key. Then nobody is granted a new share: neither
// another process, nor the session that has shares already, nor a transaction, nor a waiting reader. A transaction that
// has a share may ask for it again. The reservation ends with the writer's grant, or when the writer gives up.
func TestAWriterIsNotOvertaken(t *testing.T) {
	eachPool(t, func(t *testing.T, open func(string, ...advisory.Option) *advisory.Backend) {
		for _, writer := range []string{"same process", "other process"} {
			dsn := database(t)
			w, db := watch(t, dsn), openDB(t, dsn)
			a, b := open(dsn, advisory.Sessions(4)), open(dsn, advisory.Sessions(4))
			writes := a
			if writer == "other process" {
				writes = open(dsn)
			}
			first := share(t, a, "x")
			begin := func(name string) (lock func() error, end func()) {
				tx, err := db.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				return func() error { return advisory.InTx(t.Context(), tx, name, advisory.TxShared()) }, func() { _ = tx.Rollback() }
			}
			again, endAgain := begin("x")
			require.NoError(t, again())

			ctx, giveUp := context.WithCancel(limited(t))
			_, failed := w.waitFor(ctx, writes, request("x"))
			w.becomes("the writer has reserved the key", w.isReserved)
			held := refuse(t, a, reading("x"))
			assert.Equal(t, driver.Reserved, held.Reason)
			assert.Positive(t, held.Readers)
			assert.Equal(t, driver.Reserved, refuse(t, b, reading("x")).Reason)
			giveUp()
			refusal(t, <-failed)
			w.becomes("the reservation has ended with the wait", func() bool { return !w.isReserved() })
			require.NoError(t, b.Release(t.Context(), share(t, b, "x")))

			got, failed := w.waitFor(limited(t), writes, request("x"))
			w.becomes("the writer has reserved the key again", w.isReserved)
			reads, overtook := contest.Queue(limited(t), b, reading("x"))
			require.NoError(t, again(), "a transaction that has a share")
			other, endOther := begin("x")
			refusal(t, other())
			endOther()
			endAgain()
			w.becomes("the waiting reader has found the reservation", func() bool {
				return w.number("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()") > 0
			})
			assert.Empty(t, reads, "the reader overtook the writer")
			assert.Empty(t, got, "the writer was granted the lock beside a reader")
			require.NoError(t, a.Release(t.Context(), first))
			g := contest.Granted(t, got, failed)
			assert.False(t, w.isReserved())
			require.NoError(t, writes.Release(t.Context(), g))
			require.NoError(t, b.Release(t.Context(), contest.Granted(t, reads, overtook)))
			w.becomes("nothing is locked", func() bool { return w.locks() == 0 })
		}
	})
}

func (w watcher) isReserved() bool {
	w.tb.Helper()
	return w.number("SELECT count(*)"+here+" AND objsubid = 2 AND mode = 'ExclusiveLock'") > 0
}

// While a backend has a share of a name, it is not granted the name exclusively, although the server would grant both
// to one session. This is true for an attempt that does not wait, and for a waiter that finds no connection for
// waiting.
func TestAReaderDoesNotBecomeAWriter(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	w, b := watch(t, dsn), advisory.New(openPool(t, dsn), advisory.Sessions(1))
	g := share(t, b, "x")
	refused(t, b, "x")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := contest.Wait(ctx, b, request("x"))
	assert.Equal(t, 1, refusal(t, err).Readers)
	require.NoError(t, b.Release(t.Context(), g))
	assert.Zero(t, w.locks())
}

// Inspect describes the oldest share that this process holds, and counts the readers. A forced release ends all
// shares.
func TestInspectionOfReaders(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	a, b := advisory.New(openPool(t, dsn)), advisory.New(openPool(t, dsn))
	oldest := reading("x")
	oldest.Note = "oldest"
	first := grant(t, a, oldest)
	second, third := share(t, a, "x"), share(t, b, "x")
	for range 20 {
		status, err := a.Inspect(limited(t), first.Key)
		require.NoError(t, err)
		require.Equal(t, "oldest", status.Note)
		require.Equal(t, 2, status.Readers)
	}
	list, err := b.List(limited(t), "", true)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, 2, list[0].Readers, "two sessions")
	require.NoError(t, b.ForceRelease(limited(t), first.Key, 0, true))
	for _, g := range []driver.Grant{first, second} {
		<-g.Session.Done()
	}
	<-third.Session.Done()
}
