package etcdlock

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/internal/backoff"
)

// led makes a request of a node that knows a leader. The client asks its nodes in turn, also one that is cut off from
// the others: that would keep the request until its time is over. So it is asked to refuse, which it does before it looks
// at the request (newUnaryInterceptor in server/etcdserver/api/v3rpc), and the next one is asked; for as long as an
// election may take. So is a read that an election interrupts: a server answers nothing else in that way, and with a
// write never (requestCurrentIndex in server/etcdserver).
func led[T any](ctx context.Context, request func(context.Context) (T, error)) (T, error) {
	const limit, pause = 5 * time.Second, 20 * time.Millisecond
	ctx = clientv3.WithRequireLeader(ctx)
	began := time.Now()
	for {
		reply, err := request(ctx)
		unread := errors.Is(err, rpctypes.ErrNoLeader) || errors.Is(err, rpctypes.ErrLeaderChanged)
		if !unread || time.Since(began) > limit || !backoff.Sleep(ctx, pause) {
			return reply, err
		}
	}
}

// commit is led for a transaction.
func (s *store) commit(ctx context.Context, on []clientv3.Cmp, then, otherwise []clientv3.Op) (*clientv3.TxnResponse, error) {
	return led(ctx, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return s.client.Txn(ctx).If(on...).Then(then...).Else(otherwise...).Commit()
	})
}

// get is led for a read.
func (s *store) get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return led(ctx, func(ctx context.Context) (*clientv3.GetResponse, error) { return s.client.Get(ctx, key, opts...) })
}

// delete is led for a deletion without a condition.
func (s *store) delete(ctx context.Context, key string) (*clientv3.DeleteResponse, error) {
	return led(ctx, func(ctx context.Context) (*clientv3.DeleteResponse, error) { return s.client.Delete(ctx, key) })
}
