package etcdlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// A holder whose node is cut off from the majority stops trusting its lease before the majority grants the name again.
// The holder's node still answers requests.
func TestAHolderInTheMinorityLosesFirst(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	where := prefix()
	minority := leader(t, c) // cuts off the old leader, which is the hardest case, because the leader decides when leases expire
	majority := others(c, minority)
	lease, err := lockerOn(t, etcdlock.New(connect(t, minority.DSN), where), rowlock.TTL(2*time.Second)).Acquire(t.Context(), "a")
	require.NoError(t, err)
	c.Isolate(minority)
	defer c.Rejoin()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	next, err := lockerOn(t, etcdlock.New(connect(t, majority...), where)).Acquire(ctx, "a")
	require.NoError(t, err)
	ended := lease.Err()
	require.ErrorIs(t, ended, rowlock.ErrLost, "the majority granted the name while the holder in the minority trusted its lease")
	require.Greater(t, next.Token(), lease.Token())
	c.Rejoin()
	require.NoError(t, next.Renew(ctx))
	require.ErrorIs(t, lease.Release(t.Context()), rowlock.ErrLost)
}

// A waiter whose watch is on a node that is cut off from the majority moves to another node. It is granted the name
// after the release.
func TestCompatAWaiterLeavesTheMinority(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	c := cluster(t)
	where := prefix()
	lasting := request("a")
	lasting.TTL = time.Minute
	held, err := etcdlock.New(connect(t, endpoints(c)...), where).Acquire(t.Context(), lasting)
	require.NoError(t, err)
	waiting := make(chan error, 1)
	minority := watchedBy(t, c, func() {
		go func() {
			_, err := lockerOn(t, etcdlock.New(connect(t, endpoints(c)...), where), rowlock.TTL(time.Minute)).Acquire(t.Context(), "a") // an election may take half of this TTL
			waiting <- err
		}()
	})
	majority := others(c, minority)
	c.Isolate(minority)
	defer c.Rejoin()
	operator := etcdlock.New(connect(t, majority...), where)
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := operator.ForceRelease(ctx, held.Key, held.Token, true)
		return err == nil || errors.Is(err, driver.ErrNotHeld) // an earlier attempt may have been carried out
	}, 45*time.Second, 10*time.Millisecond)
	select {
	case err := <-waiting:
		require.NoError(t, err)
	case <-time.After(45 * time.Second):
		t.Fatal("the waiter is still waiting")
	}
}
