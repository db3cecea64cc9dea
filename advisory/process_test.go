package advisory_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/advisory"
)

// If a pooler sends a statement to another server process than expected, the statement locks
// and unlocks nothing there, and returns the id of that process.
func TestAnotherProcessIsLeftAlone(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	b, w := advisory.New(openPool(t, dsn)), watch(t, dsn)
	conn, err := openDB(t, dsn).Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // ends its locks too
	run := func(verb string, pid int64) (at int64, answer sql.NullString) {
		t.Helper()
		dest := []any{&at, &answer}
		if verb == "lock" {
			dest = append(dest, new(sql.NullString))
		}
		require.NoError(t, conn.QueryRowContext(t.Context(), b.Statement(verb), 42, pid).Scan(dest...), verb)
		return at, answer
	}
	var pid int64
	require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&pid))
	for lock, unlock := range map[string]string{
		"lock": "unlock", "lock_only": "unlock", "lock_shared": "unlock_shared", "reserve": "unreserve",
	} {
		at, token := run(lock, pid+1)
		assert.Equal(t, pid, at, lock)
		assert.NotEqual(t, "true", token.String, lock)
		assert.True(t, !token.Valid || lock == "reserve", lock)
		assert.Zero(t, w.locks(), lock)
		_, token = run(lock, pid)
		assert.True(t, token.Valid, lock)
		at, unlocked := run(unlock, pid+1)
		assert.Equal(t, pid, at, unlock)
		assert.Equal(t, "false", unlocked.String, unlock)
		assert.Equal(t, 1, w.locks(), unlock)
		_, unlocked = run(unlock, pid)
		assert.Equal(t, "true", unlocked.String, unlock)
		assert.Zero(t, w.locks(), unlock)
	}
}
