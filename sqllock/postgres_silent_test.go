package sqllock_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// A process that listens, but does not receive the notification that it sends to itself, reports that its waiters poll.
// Its waiters then use the pool, and no release sends a notification to them.
func TestPostgresWithoutItsOwnNotificationTheWaiterPolls(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 1)
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
	assert.True(t, waiter.Capabilities().Wakes, "not known yet")
	stop, err := waiter.Notify(limited(t), driver.Key{Name: "job"}, func() {})
	require.NoError(t, err)
	defer stop()
	until(t, "it is known", func() bool { return !waiter.Capabilities().Wakes })
	until(t, "it listens no longer", func() bool {
		return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE channel = ''") == 1
	})
}

// A grant takes a waiter's row out of the queue. If the process is then refused again, and the row cannot be written
// again, the acquire returns that error. It does not report the holder, because no release would notify the process.
func TestPostgresAWaiterWhoseRowCannotBeWrittenSaysSo(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 1)
	b, r := c.members[0].backend, request("job")
	r.Waiting = true
	stop, err := b.Notify(limited(t), r.Key, func() {})
	require.NoError(t, err)
	defer stop()
	c.waits(t, 1)
	c.exec(t, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no more waiters'; END $$`)
	c.exec(t, `CREATE TRIGGER refuse BEFORE INSERT ON rowlock_lease_waiter FOR EACH ROW EXECUTE FUNCTION refuse()`)
	until(t, "the row is missing", func() bool { // the listener may write the row between the grant and the refused request
		g := acquire(t, b, r)
		c.exec(t, "DELETE FROM rowlock_lease_waiter")
		second := r
		second.Nonce = driver.NewNonce()
		_, err = b.Acquire(limited(t), second)
		require.NoError(t, b.Release(limited(t), g))
		return !errors.As(err, new(*driver.Held))
	})
	assert.ErrorContains(t, err, "no more waiters")
	c.exec(t, "DROP TRIGGER refuse ON rowlock_lease_waiter")
	require.NoError(t, b.Release(limited(t), acquire(t, b, r)))
}
