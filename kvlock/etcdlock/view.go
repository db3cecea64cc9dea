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
	barrier *mvccpb.KeyValue // the oldest entry that blocks the request, unless the request's own entry is older
	mine    *mvccpb.KeyValue
	tick    tick
	epoch   driver.Token // zero if there is none
}

// view returns the operations that read a queue for a request. The method read decodes their replies. The parameter
// mine is the key of the request's entry.
func (b *Backend) view(r driver.Request, mine string) []clientv3.Op {
	reads := []clientv3.Op{clientv3.OpGet(b.queue(r.Key), clientv3.WithFirstCreate()...)}
	if r.Shared {
		reads = append(reads, clientv3.OpGet(b.barrier(r), clientv3.WithFirstCreate()...), clientv3.OpGet(mine))
	}
	return append(reads, b.recorded(r.Key), b.epoch(r.Key))
}

func (b *Backend) read(r driver.Request, mine string, reply *clientv3.TxnResponse) (v view) {
	first := func(n int) *mvccpb.KeyValue {
		if kvs := reply.Responses[n].GetResponseRange().Kvs; len(kvs) > 0 {
			return kvs[0]
		}
		return nil
	}
	v.oldest, v.tick = first(0), tickOf(reply, len(reply.Responses)-2)
	v.epoch = epochOf(reply, len(reply.Responses)-1)
	if r.Shared {
		v.barrier, v.mine = first(1), first(2)
		return v
	}
	v.barrier = v.oldest
	if v.oldest != nil && string(v.oldest.Key) == mine {
		v.mine = v.oldest
	}
	return v
}

// granted reports whether the request holds the lock.
func (v view) granted() bool {
	return v.mine != nil && (v.barrier == nil || v.barrier.CreateRevision >= v.mine.CreateRevision)
}

// oldest returns the entry of a holder, or nil if the lock is free.
func (b *Backend) oldest(ctx context.Context, key driver.Key) (*mvccpb.KeyValue, error) {
	reply, err := b.get(ctx, b.queue(key), clientv3.WithFirstCreate()...)
	if err != nil || len(reply.Kvs) == 0 {
		return nil, err
	}
	return reply.Kvs[0], nil
}

// refusal says why request r was refused. The parameter oldest is the oldest entry of the queue. If that entry is a
// share, refusal reads the queue to count the readers. If the read fails, refusal describes only the oldest entry.
func (b *Backend) refusal(ctx context.Context, r driver.Request, oldest *mvccpb.KeyValue) *driver.Held {
	held := heldBy(oldest, driver.Token(oldest.CreateRevision))
	if isExclusive(string(oldest.Key)) {
		return held
	}
	held.Token = 0
	reply, err := b.commit(ctx, nil, []clientv3.Op{b.line(r.Key), b.epoch(r.Key)}, nil)
	if err == nil {
		last, token, readers := head(reply.Responses[0].GetResponseRange().Kvs, epochOf(reply, 1))
		if readers > 0 {
			held = heldBy(last, token)
			held.Readers = readers
		}
	}
	if r.Shared { // readers hold the lock, so only a waiting writer can be the reason that a share was refused
		held.Reason = driver.Reserved
	}
	return held
}

// heldBy describes a holder. It sets no times, because only etcd's leader knows when the holder's lease ends.
func heldBy(entry *mvccpb.KeyValue, token driver.Token) *driver.Held {
	v, reason := parseValue(entry.Value), driver.Leased
	if entry.Lease == 0 {
		reason = driver.Paused
	}
	return &driver.Held{Reason: reason, Holder: v.Holder, Note: v.Note, Token: token}
}

// line returns the operation that reads the whole queue of a lock, the oldest entry first.
func (b *Backend) line(key driver.Key) clientv3.Op {
	return clientv3.OpGet(b.queue(key), clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
}

// head returns the holder's entry, the holder's token, and the number of readers that hold the lock. The parameter
// queue must be ordered by age. If several readers hold the lock, head returns the youngest of their entries. The
// parameter epoch is the token of the readers, or zero if no reader has begun an epoch yet. Then the token is the
// create revision of the oldest entry.
func head(queue []*mvccpb.KeyValue, epoch driver.Token) (holder *mvccpb.KeyValue, token driver.Token, readers int) {
	for readers < len(queue) && !isExclusive(string(queue[readers].Key)) {
		readers++
	}
	switch {
	case len(queue) == 0:
		return nil, 0, 0
	case readers == 0 || epoch == 0:
		epoch = driver.Token(queue[0].CreateRevision)
	}
	return queue[max(0, readers-1)], epoch, readers
}
