package etcdlock

import (
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// view is what one transaction shows of a queue. What is not there is nil.
type view struct {
	oldest  *mvccpb.KeyValue // a holder's
	barrier *mvccpb.KeyValue // the oldest of those that keep a later one from being granted
	mine    *mvccpb.KeyValue
}

// view is the reads that read takes.
func (b *Backend) view(r driver.Request) []clientv3.Op {
	reads := []clientv3.Op{clientv3.OpGet(b.queue(r.Key), clientv3.WithFirstCreate()...)}
	if b.shared {
		reads = append(reads,
			clientv3.OpGet(b.barrier(r.Key), clientv3.WithFirstCreate()...),
			clientv3.OpGet(b.entry(r.Key, r.Nonce)))
	}
	return reads
}

func (b *Backend) read(r driver.Request, reply *clientv3.TxnResponse) (v view) {
	first := func(n int) *mvccpb.KeyValue {
		if kvs := reply.Responses[n].GetResponseRange().Kvs; len(kvs) > 0 {
			return kvs[0]
		}
		return nil
	}
	v.oldest = first(0)
	if b.shared {
		v.barrier, v.mine = first(1), first(2)
		return v
	}
	v.barrier = v.oldest
	if v.oldest != nil && string(v.oldest.Key) == b.entry(r.Key, r.Nonce) {
		v.mine = v.oldest
	}
	return v
}

// granted says whether the request holds the lock.
func (v view) granted() bool {
	return v.mine != nil && (v.barrier == nil || v.barrier.CreateRevision >= v.mine.CreateRevision)
}

// oldest is the entry of a holder; nil if nobody holds the lock.
func (s *store) oldest(ctx context.Context, key driver.Key) (*mvccpb.KeyValue, error) {
	reply, err := s.client.Get(ctx, s.queue(key), clientv3.WithFirstCreate()...)
	if err != nil || len(reply.Kvs) == 0 {
		return nil, err
	}
	return reply.Kvs[0], nil
}

// refusal tells of a holder. Since when and until when, only etcd's leader knows.
func refusal(oldest *mvccpb.KeyValue) *driver.Held {
	v := parseValue(oldest.Value)
	return &driver.Held{Reason: driver.Leased, Holder: v.Holder, Note: v.Note, Token: driver.Token(oldest.CreateRevision)}
}
