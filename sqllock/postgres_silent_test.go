package sqllock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// A process that listens, but does not receive the notification that it sends to itself, reports that its waiters poll.
// Its waiters then use the pool, and no release sends a notification to them.
func TestPostgresWithoutItsOwnNotificationTheWaiterPolls(t *testing.T) {
	t.Parallel()
	c := newCrowdAlone(t, 1)
	role := "silent_" + strings.ReplaceAll(driver.NewNonce().String(), "-", "")
	c.exec(t, "CREATE ROLE "+role+" LOGIN")
	t.Cleanup(func() {
		_, err := c.raw.ExecContext(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
		require.NoError(t, err)
	})
	c.exec(t, "REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC")
	for _, table := range []string{"rowlock_lease", "rowlock_lease_waiter", "rowlock_lease_meta"} {
		c.exec(t, "GRANT SELECT, INSERT, UPDATE, DELETE ON "+table+" TO "+role)
	}
	waiter := c.join(t, strings.Replace(c.dsn, "://postgres@", "://"+role+"@", 1)).backend
	waiter.SetHello(300 * time.Millisecond)
	assert.True(t, waiter.Capabilities().Wakes, "not known yet")
	stop, err := waiter.Notify(limited(t), driver.Key{Name: "job"}, func() {})
	require.NoError(t, err)
	defer stop()
	until(t, "it is known", func() bool { return !waiter.Capabilities().Wakes })
	until(t, "it listens no longer", func() bool {
		return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE channel = ''") == 1
	})
}

// A process whose row is missing from the table polls, because no release notifies it. It soon writes its row again.
func TestPostgresAWaiterWhoseRowIsMissingPolls(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2)
	g := acquire(t, c.members[0].backend, request("job"))
	b, r := c.members[1].backend, waiting("job")
	stop, err := b.Notify(limited(t), r.Key, func() {})
	require.NoError(t, err)
	defer stop()
	until(t, "it is listed", func() bool { return refused(t, b, r).Listed })
	until(t, "its row is missing", func() bool { // the backend may still be writing the row for the first time
		c.exec(t, "DELETE FROM rowlock_lease_waiter")
		return !refused(t, b, r).Listed
	})
	c.waits(t, 1)
	until(t, "it is listed again", func() bool { return refused(t, b, r).Listed })
	require.NoError(t, c.members[0].backend.Release(limited(t), g))
}

// A grant takes a waiter's row out of the queue, and its next refused request puts the row back. A release at the same
// time does not see that row, and notifies nobody. So the waiter polls until a second refusal has found its row.
func TestPostgresAWaiterThatReturnsToTheQueuePolls(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2)
	holder, b := c.members[0].backend, c.members[1].backend
	stop, err := b.Notify(limited(t), driver.Key{Name: "job"}, func() {})
	require.NoError(t, err)
	defer stop()
	until(t, "it listens", func() bool { return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE channel <> ''") == 1 })
	require.NoError(t, b.Release(limited(t), acquire(t, b, waiting("job"))))
	g := acquire(t, holder, request("job"))
	tx := c.begin(t)
	until(t, "the row is locked while it is not in the queue", func() bool { // the listener may put the row back before
		c.exec(t, "UPDATE rowlock_lease_waiter SET callable = false")
		var locked int
		require.NoError(t, tx.QueryRowContext(t.Context(), c.sql("WITH l AS (SELECT FROM rowlock_lease_waiter WHERE NOT callable FOR UPDATE) SELECT count(*) FROM l")).Scan(&locked))
		return locked == 1
	})
	answer := make(chan error, 1)
	go func() {
		_, err := b.Acquire(limited(t), waiting("job"))
		answer <- err
	}()
	until(t, "the request waits for the row", func() bool {
		return c.int(t, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'WITH seen %\"rowlock_lease\"%'") == 1
	})
	require.NoError(t, holder.Release(limited(t), g))
	require.NoError(t, tx.Commit())
	var held *driver.Held
	require.ErrorAs(t, within(t, answer), &held)
	assert.False(t, held.Listed)
}
