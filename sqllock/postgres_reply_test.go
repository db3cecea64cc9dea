package sqllock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock"
)

// unheard is a backend that loses the reply to the first attempt that stores its request in the waiter's row. The test
// decides when that attempt returns its error.
type unheard struct {
	*sqllock.Backend

	lost  atomic.Bool
	left  chan struct{}
	error chan struct{}
}

func (u *unheard) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := u.Backend.Acquire(ctx, r)
	var held *driver.Held
	if errors.As(err, &held) && held.Pending && u.lost.CompareAndSwap(false, true) {
		close(u.left)
		<-u.error
		return driver.Grant{}, errors.New("the connection broke")
	}
	return g, err
}

// Promise 5 of docs/guarantees.md: if the reply to an attempt is lost, its request may be stored in the waiter's row
// nevertheless. If a release grants the lock to that request, the waiter returns that grant, and its Acquire does not
// fail.
func TestPostgresAGrantToARequestWithoutReplyIsTaken(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2)
	holder := c.members[0].backend
	stop, err := holder.Notify(t.Context(), driver.Key{Name: "job"}, func() {}) // this holder waits too, so its release may grant a request in a waiter's row
	require.NoError(t, err)
	defer stop()
	u := &unheard{Backend: c.members[1].backend, left: make(chan struct{}), error: make(chan struct{})}
	called := make(chan struct{}, 10)
	waiter, err := rowlock.New(u)
	require.NoError(t, err)
	defer func() { require.NoError(t, waiter.Close()) }()
	listens, err := u.Notify(t.Context(), driver.Key{Name: "another"}, func() {})
	require.NoError(t, err)
	defer listens()
	until(t, "both listen", func() bool { return c.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE channel <> ''") == 2 })
	held := acquire(t, holder, request("job"))
	c.exec(t, "UPDATE rowlock_lease_waiter SET since = since + interval '1 hour'") // puts the other waiter at the front of the queue
	got := make(chan *rowlock.Lease, 1)
	go func() {
		lease, err := waiter.Acquire(t.Context(), "job")
		assert.NoError(t, err)
		got <- lease
	}()
	within(t, u.left)
	heard, err := u.Notify(t.Context(), held.Key, func() { called <- struct{}{} })
	require.NoError(t, err)
	defer heard()
	require.NoError(t, holder.Release(t.Context(), held))
	within(t, called)
	granted := c.int(t, "SELECT token FROM rowlock_lease WHERE nonce IS NOT NULL AND expires_at > clock_timestamp()")
	close(u.error)
	lease := within(t, got)
	require.NotNil(t, lease)
	assert.Equal(t, driver.Token(granted), lease.Token(), "the grant that the release has made")
	require.NoError(t, lease.Err())
	require.NoError(t, lease.Release(t.Context()))
}
