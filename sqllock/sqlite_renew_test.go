package sqllock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// Promise 4 of docs/guarantees.md: a renewal that is retried reports only the result of its last attempt. With a
// rollback journal, a statement can return its rows and then fail to commit because of a reader. The lease may expire
// before the next attempt.
func TestSQLiteARenewalThatWasUndoneIsNone(t *testing.T) {
	t.Run("lease", func(t *testing.T) { renewalIsUndone(t, false) })
	t.Run("share", func(t *testing.T) { renewalIsUndone(t, true) })
}

func renewalIsUndone(t *testing.T, shared bool) {
	t.Helper()
	s := sqliteTestWith(t, "DELETE")
	b := s.open()
	r := request("job")
	r.TTL, r.Shared = 2*time.Second, shared
	g, err := b.Acquire(t.Context(), r)
	require.NoError(t, err)
	reader, err := s.raw.Conn(t.Context())
	require.NoError(t, err)
	defer reader.Close()
	_, err = reader.ExecContext(t.Context(), "BEGIN")
	require.NoError(t, err)
	var n int
	require.NoError(t, reader.QueryRowContext(t.Context(), "SELECT count(*) FROM rowlock_lease").Scan(&n))
	gone := make(chan error, 1)
	time.AfterFunc(r.TTL+500*time.Millisecond, func() {
		_, err := reader.ExecContext(t.Context(), "ROLLBACK")
		gone <- err
	})
	assert.Equal(t, []driver.Outcome{driver.Lost}, renew(t, b, g))
	require.NoError(t, <-gone)
	assert.Equal(t, driver.StateExpired, inspect(t, b, "job").State)
}
