package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
)

// If a seal or a transaction times out while the fence table is locked, its session on the server ends soon. By
// default, MySQL would keep such a session for a year. While a session waits for a table, the server does not notice
// that the client has disconnected.
func TestCallsThatTimeOutLeaveNoSessions(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		if s.dialect != migrations.MySQL {
			return // on Postgres the driver cancels the statement, and SQLite has no sessions
		}
		sealed := s.lease(t, "sealed")
		require.NoError(t, s.guard.Seal(t.Context(), sealed))
		var schema string
		require.NoError(t, s.db.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&schema))
		blocker, err := s.db.Conn(t.Context())
		require.NoError(t, err)
		defer blocker.Close()
		_, err = blocker.ExecContext(t.Context(), "LOCK TABLES rowlock_lease_fence WRITE")
		require.NoError(t, err)
		const room = 4
		db := s.open(t, s.dsn)
		db.SetMaxOpenConns(room)
		guard := fence.MySQL(db)
		var calls sync.WaitGroup
		for i := range 3 * room {
			lease := s.lease(t, fmt.Sprintf("r %d", i))
			calls.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				if i%2 == 0 {
					assert.Error(t, guard.Seal(ctx, lease))
					return
				}
				inside, cancel := context.WithTimeout(sealed.Context(), 300*time.Millisecond)
				defer cancel()
				assert.Error(t, guard.Tx(inside, func(context.Context, *sql.Tx) error { return errors.New("the check has passed") }))
			})
		}
		calls.Wait()
		assert.Eventually(t, func() bool { return testenv.Working(t, s.db, schema) == 0 }, waitLimit, 100*time.Millisecond, "a session still waits")
		_, err = blocker.ExecContext(t.Context(), "UNLOCK TABLES")
		require.NoError(t, err)
		require.NoError(t, s.guard.Seal(t.Context(), sealed))
	})
}
