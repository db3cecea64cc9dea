package etcdlock

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/internal/backoff"
)

// led sends a request to a node that knows a leader. The client uses its nodes in turn. A node that is cut off from the
// other nodes would keep the request until the request's timeout. WithRequireLeader makes such a node refuse the
// request at once, before executing anything (newUnaryInterceptor in server/etcdserver/api/v3rpc). led then retries the
// request on the next node, for as long as an election may take. led also retries a read that an election interrupts
// (ErrLeaderChanged). A server never answers a write with ErrLeaderChanged (requestCurrentIndex in server/etcdserver).
func led[T any](ctx context.Context, request func(context.Context) (T, error)) (T, error) {
	const limit, pause = 5 * time.Second, 20 * time.Millisecond
	ctx = clientv3.WithRequireLeader(undated{ctx})
	began := time.Now()
	for {
		reply, err := request(ctx)
		unread := errors.Is(err, rpctypes.ErrNoLeader) || errors.Is(err, rpctypes.ErrLeaderChanged)
		if !unread || time.Since(began) > limit || !backoff.Sleep(ctx, pause) {
			return reply, err
		}
	}
}

// undated is a context that hides its deadline but ends with its parent. gRPC would send the deadline to the server.
// The server would then make a timer and a context for each request, which takes as long as the comparison in a
// release. The server does not need the deadline, because a client that gives up cancels its request, and etcd has its
// own limit for each request.
type undated struct{ context.Context }

func (undated) Deadline() (deadline time.Time, ok bool) { return deadline, false }

// commit sends a transaction with the function led.
func (b *Backend) commit(ctx context.Context, on []clientv3.Cmp, then, otherwise []clientv3.Op) (*clientv3.TxnResponse, error) {
	return led(ctx, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return b.client.Txn(ctx).If(on...).Then(then...).Else(otherwise...).Commit()
	})
}

// get sends a read with the function led.
func (b *Backend) get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return led(ctx, func(ctx context.Context) (*clientv3.GetResponse, error) { return b.client.Get(ctx, key, opts...) })
}

// delete sends an unconditional deletion with the function led.
func (b *Backend) delete(ctx context.Context, key string) error {
	_, err := led(ctx, func(ctx context.Context) (*clientv3.DeleteResponse, error) { return b.client.Delete(ctx, key) })
	return err
}
