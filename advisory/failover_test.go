package advisory_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/advisory"
)

// A backend refuses to lock on a standby. After the standby is promoted, its tokens are larger than all earlier ones,
// even if replication lost the last numbers of the sequence.
func TestStandbyAndPromotion(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	w := watch(t, server.DSN)
	b := advisory.New(openPool(t, server.DSN))
	w.number("SELECT setval('rowlock_lease_token', 1000000)")
	before := acquire(t, b, "a")
	timeline := int64(w.number("SELECT timeline_id FROM pg_control_checkpoint()"))
	assert.Equal(t, timeline, int64(before.Token)>>40)

	require.NoError(t, os.WriteFile(filepath.Join(server.Folder, "data", "standby.signal"), nil, 0o644))
	require.NoError(t, server.Restart(t.Context()))
	w = watch(t, server.DSN)
	unfit(t, advisory.New(openPool(t, server.DSN)), "standby", "primary")
	unfit(t, advisory.New(openPool(t, server.DSN), advisory.NoToken()), "standby")
	_, err := w.db.ExecContext(t.Context(), "SELECT pg_promote()")
	require.NoError(t, err)
	w.number("SELECT setval('rowlock_lease_token', 1)")
	after := acquire(t, b, "a")
	assert.Greater(t, after.Token, before.Token)
	assert.Equal(t, timeline+1, int64(after.Token)>>40)
}
