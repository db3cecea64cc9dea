package etcdlock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// stop holds up whoever comes to it, until the test lets it go on.
type stop struct {
	once          sync.Once
	reached, goOn chan struct{}
}

func newStop() *stop { return &stop{reached: make(chan struct{}), goOn: make(chan struct{})} }

func (s *stop) hold(ctx context.Context) {
	s.once.Do(func() { close(s.reached) })
	select {
	case <-s.goOn:
	case <-ctx.Done():
	}
}

// before is the context of a request that is held up before it is sent: then the client looks for what is to go with it.
type before struct {
	context.Context

	stop *stop
}

func (b before) Value(key any) any {
	b.stop.hold(b.Context)
	return b.Context.Value(key)
}

// leases holds up the answer to what lives on a lease.
type leases struct {
	clientv3.Lease

	stop *stop
}

func (l leases) TimeToLive(ctx context.Context, id clientv3.LeaseID, opts ...clientv3.LeaseOption) (*clientv3.LeaseTimeToLiveResponse, error) {
	reply, err := l.Lease.TimeToLive(ctx, id, opts...)
	l.stop.hold(ctx)
	return reply, err
}

// keys holds up what deletes without a condition.
type keys struct {
	clientv3.KV

	stop *stop
}

func (k keys) Delete(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	k.stop.hold(ctx)
	return k.KV.Delete(ctx, key, opts...)
}

// Promise 1: what is taken back of a session in doubt is never the entry of a grant, although an acquisition that began before the doubt
// gets a key that was seen there before.
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
		r.TTL = 8 * time.Second // the session's is 9 s
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
	<-unanswered.reached
	require.Eventually(t, func() bool { return b.Age(kept.Nonce) > 1100*time.Millisecond }, 10*time.Second, 10*time.Millisecond)
	granted := make(chan error, 1)
	go func() { // it has the session, and keeps it alive first
		_, err := b.Acquire(before{ctx, beat}, asked("x"))
		granted <- err
	}()
	<-beat.reached
	giveUp()
	<-inDoubt
	renewed := make(chan error, 1)
	go func() {
		_, err := b.Renew(ctx, []driver.Grant{kept})
		renewed <- err
	}()
	<-list.reached
	require.NoError(t, b.Release(ctx, ended))
	close(list.goOn)
	select {
	case <-remove.reached:
	case err := <-renewed: // nothing was to be deleted
		renewed <- err
	}
	close(beat.goOn)
	require.NoError(t, <-granted)
	close(remove.goOn)
	require.NoError(t, <-renewed)

	var held *driver.Held
	_, err = other.Acquire(ctx, asked("x"))
	require.ErrorAs(t, err, &held, "two have the lock")
}
