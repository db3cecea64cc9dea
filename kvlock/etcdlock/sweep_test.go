package etcdlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// leases is a client for leases that blocks after each reply to TimeToLive.
type leases struct {
	clientv3.Lease

	stop *stop
}

func (l leases) TimeToLive(ctx context.Context, id clientv3.LeaseID, opts ...clientv3.LeaseOption) (*clientv3.LeaseTimeToLiveResponse, error) {
	reply, err := l.Lease.TimeToLive(ctx, id, opts...)
	l.stop.hold(ctx)
	return reply, err
}

// keys is a client for keys that blocks before each unconditional deletion.
type keys struct {
	clientv3.KV

	stop *stop
}

func (k keys) Delete(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	k.stop.hold(ctx)
	return k.KV.Delete(ctx, key, opts...)
}

// arrive waits for an event, and fails the test if ctx ends before.
func arrive(t *testing.T, ctx context.Context, event <-chan struct{}) { //nolint:revive // t comes first
	t.Helper()
	select {
	case <-event:
	case <-ctx.Done():
		require.NoError(t, ctx.Err())
	}
}

// Promise 1 of docs/guarantees.md: after a request without a reply, the next renewal of the session performs a sweep: it
// deletes entries that belong to no known acquisition. The sweep never deletes the entry of a grant. This is true even
// if another acquisition has used the same session before, and its key was released during the sweep.
func TestASweepDeletesNoGrant(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	unanswered, beat, list, remove := newStop(), newStop(), newStop(), newStop()
	client := connect(t, server(t))
	client.Lease, client.KV = leases{client.Lease, list}, keys{client.KV, remove}
	place := prefix()
	b, other := etcdlock.New(client, place), etcdlock.New(connect(t, server(t)), place)
	asked := func(name string) driver.Request {
		r := request(name)
		r.TTL = 40 * time.Second // the session's TTL is 45 s
		return r
	}
	kept, err := b.Acquire(ctx, asked("kept"))
	require.NoError(t, err)
	ended, err := b.Acquire(ctx, asked("x"))
	require.NoError(t, err)

	doubt, giveUp := context.WithCancel(ctx)
	inDoubt := make(chan struct{})
	go func() {
		defer close(inDoubt)
		_, _ = b.Acquire(before{doubt, unanswered}, asked("unanswered"))
	}()
	arrive(t, ctx, unanswered.reached)
	b.Backdate(kept.Nonce, 6*time.Second) // so that the next acquisition must renew the session
	granted := make(chan error, 1)
	go func() { // this acquisition has chosen the session, and renews the session before it puts an entry
		_, err := b.Acquire(before{ctx, beat}, asked("x"))
		granted <- err
	}()
	arrive(t, ctx, beat.reached)
	giveUp()
	arrive(t, ctx, inDoubt)
	renewed := make(chan error, 1)
	go func() {
		_, err := b.Renew(ctx, []driver.Grant{kept})
		renewed <- err
	}()
	arrive(t, ctx, list.reached)
	require.NoError(t, b.Release(ctx, ended))
	close(list.goOn)
	select {
	case <-remove.reached:
	case err := <-renewed: // the sweep found nothing to delete
		renewed <- err
	}
	close(beat.goOn)
	require.NoError(t, <-granted)
	close(remove.goOn)
	require.NoError(t, <-renewed)

	var held *driver.Held
	_, err = other.Acquire(ctx, asked("x"))
	require.ErrorAs(t, err, &held, "the lock was granted twice")
}

// A sweep has read a late entry, and before it decides about the entry, a retry of the same acquisition is granted the
// lock with it. The sweep then leaves the entry.
func TestASweepLeavesARetry(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	unanswered, list := newStop(), newStop()
	client, direct := connect(t, server(t)), connect(t, server(t))
	client.Lease = leases{client.Lease, list}
	b := etcdlock.New(client, prefix())
	holding, late := request("kept"), request("late")
	holding.TTL, late.TTL = 160*time.Second, 160*time.Second // the session's TTL is 180 s, so the retry does not renew the session
	kept, err := b.Acquire(ctx, holding)
	require.NoError(t, err)
	entry, err := direct.Get(ctx, b.EntryOf(kept.Nonce))
	require.NoError(t, err)

	doubt, giveUp := context.WithCancel(ctx)
	go func() {
		<-unanswered.reached
		giveUp()
	}()
	_, err = b.Acquire(before{doubt, unanswered}, late)
	require.False(t, err == nil || driver.IsNotApplied(err), "%v", err)
	_, err = direct.Put(ctx, b.EntryOf(late.Nonce), "{}", clientv3.WithLease(clientv3.LeaseID(entry.Kvs[0].Lease)))
	require.NoError(t, err)
	renewed := make(chan error, 1)
	go func() {
		_, err := b.Renew(ctx, []driver.Grant{kept})
		renewed <- err
	}()
	arrive(t, ctx, list.reached)
	g, err := b.Acquire(ctx, late)
	require.NoError(t, err)
	close(list.goOn)
	require.NoError(t, <-renewed)
	outcomes, err := b.Renew(ctx, []driver.Grant{g})
	require.NoError(t, err)
	require.Equal(t, []driver.Outcome{driver.Renewed}, outcomes)
}
