package mysqlock

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

// If calls time out because another session has locked the table of tokens, the server soon ends their sessions.
// Without a limit, MySQL would keep each session for up to a year, because it does not notice a disconnected client
// while its session waits for a table lock.
func TestCallsThatTimeOutLeaveNoSessions(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		blocker, err := s.raw.Conn(limited(t))
		require.NoError(t, err)
		defer blocker.Close()
		_, err = blocker.ExecContext(limited(t), "LOCK TABLES rowlock_lease_counter WRITE, rowlock_lease_mint WRITE")
		require.NoError(t, err)
		const room = 6
		db := s.open(t)
		db.SetMaxOpenConns(room)
		b := New(db)
		var calls sync.WaitGroup
		for i := range 3 * room {
			calls.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
				defer cancel()
				if i%3 == 0 {
					_, _ = b.List(ctx, "", true)
					return
				}
				_, _ = b.Acquire(ctx, request(fmt.Sprintf("a %d", i)))
			})
		}
		calls.Wait()
		becomes(t, "no session waits", func() bool { return testenv.Working(t, s.raw, s.schema) == 0 })
		_, err = blocker.ExecContext(limited(t), "UNLOCK TABLES")
		require.NoError(t, err)
		require.NoError(t, b.Release(limited(t), grant(t, b, "a")))
		idle(t, b)
	})
}
