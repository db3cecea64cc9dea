package sqllock_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// Promise 5 of docs/guarantees.md: if the first statement of an attempt has recorded a request, and the waiter stops
// waiting before the next statement, the waiter withdraws that request. Otherwise a release would grant the lock to a
// request without a waiter, and the lock would be unavailable for a TTL.
func TestPostgresARequestIsTakenBackBetweenTwoStatements(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 1)
	holder := c.members[0].backend
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	require.ErrorIs(t, c.leaves(ctx, t, giveUp), context.Canceled)

	c.exec(t, "UPDATE rowlock_lease_waiter SET since = since + interval '1 hour' WHERE nonce IS NULL")
	require.NoError(t, holder.Release(t.Context(), acquire(t, holder, request("job"))))
	assert.Zero(t, c.int(t, "SELECT count(*) FROM rowlock_lease WHERE nonce IS NOT NULL"), "leases that nobody knows of")
}

// Promise 5 of docs/guarantees.md: an attempt also withdraws its recorded request if its next statement fails with a
// permanent error, for example because the table was dropped. The error says that the attempt had no effect, so no
// later call withdraws the request.
func TestPostgresARequestIsTakenBackBeforeAPermanentError(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 1)
	var once sync.Once
	err := c.leaves(t.Context(), t, func() {
		once.Do(func() { c.exec(t, "ALTER TABLE rowlock_lease_meta RENAME TO rowlock_lease_elsewhere") })
	})
	require.ErrorIs(t, err, rowlock.ErrUnavailable)
	require.True(t, driver.IsPermanent(err), "%v", err)
}
