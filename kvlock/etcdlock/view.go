package etcdlock

import (
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// view is the part of a queue that one transaction reads. Missing entries are nil.
type view struct {
	oldest  *mvccpb.KeyValue // the oldest entry of the lock, which belongs to a holder
	barrier *mvccpb.KeyValue // the oldest entry that blocks a later request
	mine    *mvccpb.KeyValue
	tick    tick
}

// view returns the operations that read a queue for a request. The method read decodes their replies. The parameter
// mine is the key of the request's entry, or empty.
func (b *Backend) view(key driver.Key, mine string) []clientv3.Op {
	reads := []clientv3.Op{clientv3.OpGet(b.queue(key), clientv3.WithFirstCreate()...)}
	if b.shared {
		reads = append(reads, clientv3.OpGet(b.barrier(key), clientv3.WithFirstCreate()...))
		if mine != "" {
			reads = append(reads, clientv3.OpGet(mine))
		}
	}
	return append(reads, b.recorded(key))
}

func (b *Backend) read(mine string, reply *clientv3.TxnResponse) (v view) {
	first := func(n int) *mvccpb.KeyValue {
		if kvs := reply.Responses[n].GetResponseRange().Kvs; len(kvs) > 0 {
			return kvs[0]
		}
		return nil
	}
	v.oldest, v.tick = first(0), tickOf(reply, len(reply.Responses)-1)
	switch {
	case !b.shared:
		v.barrier = v.oldest
		if v.oldest != nil && string(v.oldest.Key) == mine {
			v.mine = v.oldest
		}
	case mine != "":
		v.barrier, v.mine = first(1), first(2)
	default:
		v.barrier = first(1)
	}
	return v
}

// granted reports whether the request holds the lock.
func (v view) granted() bool {
	return v.mine != nil && (v.barrier == nil || v.barrier.CreateRevision >= v.mine.CreateRevision)
}

// oldest returns the entry of a holder, or nil if the lock is free.
func (s *store) oldest(ctx context.Context, key driver.Key) (*mvccpb.KeyValue, error) {
	reply, err := s.get(ctx, s.queue(key), clientv3.WithFirstCreate()...)
	if err != nil || len(reply.Kvs) == 0 {
		return nil, err
	}
	return reply.Kvs[0], nil
}

// refusal describes the holder, whose entry is the parameter oldest. It sets no times, because only etcd's leader knows
// when the holder's lease ends.
func refusal(oldest *mvccpb.KeyValue) *driver.Held {
	v, reason := parseValue(oldest.Value), driver.Leased
	if oldest.Lease == 0 {
		reason = driver.Paused
	}
	return &driver.Held{Reason: reason, Holder: v.Holder, Note: v.Note, Token: driver.Token(oldest.CreateRevision)}
}
