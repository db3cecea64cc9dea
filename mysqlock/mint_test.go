package mysqlock

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/migrations"
)

// A run of the server keeps its mint, and reserves more tokens. Another run gets a mint whose tokens are larger than all
// reserved ones: another server, a later start, and a start in the same second with a smaller counter.
func TestNextMint(t *testing.T) {
	t.Parallel()
	const clock = 1_000_000_000
	m := mint{}.next(reading{"a", 500, clock})
	assert.Equal(t, mint{"a", 500, clock, clock + reservedTokens}, m)
	assert.True(t, m.serves(reading{"a", 500, 0}))
	assert.Equal(t, mint{"a", 500, clock, clock + 2*reservedTokens + 7}, m.more(500+reservedTokens+7))
	for _, r := range []reading{{"b", 900, 0}, {"b", 100, 0}, {"a", 499, 0}} {
		assert.False(t, m.serves(r))
		other := m.next(r)
		assert.Equal(t, mint{r.run, r.number, m.reserved + 1, m.reserved + 1 + reservedTokens}, other)
		token, reserved := other.of(r.number)
		assert.True(t, reserved)
		assert.Greater(t, int64(token), m.reserved)
	}
	_, reserved := m.of(500 + reservedTokens)
	assert.True(t, reserved)
	_, reserved = m.of(501 + reservedTokens)
	assert.False(t, reserved)
}

// A server whose clock was set back, and which starts again, makes larger tokens than before, and so does a server that
// starts in the second in which it had started before. While a run lasts, setting its clock changes nothing.
func TestRestartWithTheClockSetBack(t *testing.T) {
	t.Parallel()
	testenv.DSN(t, testserver.MariaDB)
	server, err := testserver.Start(t.Context(), testserver.MariaDB, testserver.Options{Clock: true})
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	db := openDB(t, server.DSN)
	require.NoError(t, migrations.Up(t.Context(), db, migrations.MySQL))
	run := func() (run string) {
		var number, clock int64
		require.NoError(t, db.QueryRow(New(db).sql["run"]).Scan(&run, &number, &clock))
		return run
	}
	b := New(openDB(t, server.DSN))
	b.locks.Linger = 0
	cycle := func() int64 {
		g := grant(t, b, "a")
		require.NoError(t, b.Release(limited(t), g))
		return int64(g.Token)
	}
	began, last := run(), cycle()
	for _, back := range []time.Duration{time.Minute, 2 * time.Hour} {
		require.NoError(t, server.SetClock(-back))
		assert.Equal(t, began, run(), "the clock was set, but the run is the same")
		token := cycle()
		assert.InDelta(t, last, token, 100, "no other tokens were reserved")
		assert.Greater(t, token, last)
		last = token
		require.NoError(t, server.Shutdown())
		require.NoError(t, server.Restart(t.Context()))
		assert.NotEqual(t, began, run())
		token = cycle()
		assert.Greater(t, token, last)
		began, last = run(), token
	}
}

// Promise: a grant that reserves tokens returns soon after its context, whichever of its statements gets no reply. The
// test needs this for the commit, because go-sql-driver ignores the context of a commit.
func TestAReservationWithoutAReply(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		for n := range 10 {
			db, proxy := s.through(t)
			b := oneSession(db)
			b.locks.Linger = ttl
			name := strconv.Itoa(n) // the server may still keep the previous name for a session whose connection is closed
			g := grant(t, b, name)
			se := b.locks.Sessions()[0].(*session)
			require.NoError(t, b.Release(limited(t), g))
			se.mint.reserved = 0
			proxy.CutAfter(n + 1)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			ended := make(chan error, 1)
			go func() {
				_, err := b.Acquire(ctx, request(name))
				ended <- err
			}()
			select {
			case err := <-ended:
				if err != nil { // without an error, only the row that describes the grant got no reply
					require.ErrorIs(t, err, context.DeadlineExceeded)
				}
			case <-time.After(10 * time.Second):
				require.FailNow(t, "the call did not return", "after statement %d", n+1)
			}
			cancel()
			proxy.Close()
		}
	})
}
