package etcdlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// A waiter whose watch is on a node that hangs is still granted the lock. This holds even if the client does not detect
// the dead connection, because DialKeepAliveTime is not set.
func TestCompatAWaiterOnANodeThatHangs(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	c := cluster(t)
	where := prefix()
	operator := connect(t, endpoints(c)...)
	lasting := request("a")
	lasting.TTL = time.Minute
	held, err := etcdlock.New(operator, where).Acquire(t.Context(), lasting)
	require.NoError(t, err)
	usual := config(endpoints(c)...)
	usual.DialKeepAliveTime = 0
	client, err := clientv3.New(usual)
	require.NoError(t, err)
	defer client.Close()
	waiting := make(chan error, 1)
	hung := watchedBy(t, c, func() {
		go func() {
			r := request("a")
			r.TTL = 16 * time.Second
			_, err := inQueue(etcdlock.New(client, where), t.Context(), r)
			waiting <- err
		}()
	})
	hung.Pause()
	defer hung.Continue()
	direct := etcdlock.New(connect(t, others(c, hung)...), where)
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		err := direct.ForceRelease(ctx, held.Key, held.Token, true)
		return err == nil || errors.Is(err, driver.ErrNotHeld) // an earlier attempt may have been carried out
	}, 45*time.Second, 10*time.Millisecond)
	select {
	case err := <-waiting:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("the waiter is still waiting")
	}
}

// A waiter keeps its entry in the queue, even if the cluster has no leader for longer than the timeout of one request.
func TestCompatAWaiterWithoutAnyLeaderKeepsItsPlace(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	c := cluster(t)
	where := prefix()
	operator := etcdlock.New(connect(t, endpoints(c)...), where)
	r := request("a")
	r.TTL = time.Minute
	held, err := operator.Acquire(t.Context(), r)
	require.NoError(t, err)
	waiting := make(chan error, 1)
	left := watchedBy(t, c, func() { // the waiter watches on the node that survives, which notices at once that there is no leader
		go func() {
			r := request("a")
			r.TTL = time.Minute // a request times out after 5 s
			_, err := inQueue(etcdlock.New(connect(t, endpoints(c)...), where), t.Context(), r)
			waiting <- err
		}()
	})
	var killed []*testserver.EtcdNode
	for _, n := range c.Nodes {
		if n != left {
			n.Kill()
			killed = append(killed, n)
		}
	}
	require.Eventually(t, func() bool { return metric(t, left.DSN, leads) == 0 }, 20*time.Second, 10*time.Millisecond)
	time.Sleep(6 * time.Second) // the time without a leader
	for _, n := range killed {
		require.NoError(t, n.Restart(t.Context()))
	}
	require.Eventually(t, func() bool { return operator.Release(t.Context(), held) == nil }, 45*time.Second, 10*time.Millisecond)
	select {
	case err := <-waiting:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("the waiter is still waiting")
	}
}
