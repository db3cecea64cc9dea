package etcdlock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// List implements [driver.Operator]. It returns the locks that are held or have a tick, because etcd stores nothing
// about other locks. For a shared lock, List and Inspect show the oldest grant.
func (b *Backend) List(ctx context.Context, namespace string, all bool) ([]driver.Status, error) {
	under := b.under(namespace)
	if all {
		under = b.prefix + "/"
	}
	reply, err := b.get(ctx, under, clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		return nil, fmt.Errorf("etcdlock: list locks: %w", ofRead(err))
	}
	queues := make(map[driver.Key][]*mvccpb.KeyValue)
	done := make(map[driver.Key]string)
	var list []driver.Status
	left := make(map[int64]time.Duration)
	for _, kv := range reply.Kvs {
		key, isTick, ok := b.parse(string(kv.Key))
		if isTick {
			done[key] = parseTick(kv.Value).Done
		}
		if ok && !isTick {
			queues[key] = append(queues[key], kv)
		}
	}
	for key, queue := range queues {
		lease := queue[0].Lease
		if _, asked := left[lease]; !asked && lease != 0 {
			if left[lease], err = b.left(ctx, queue[0]); err != nil {
				return nil, err
			}
		}
		s := status(key, queue, left[lease])
		s.Done = done[key]
		list = append(list, s)
	}
	for key, last := range done {
		if queues[key] == nil {
			list = append(list, driver.Status{Key: key, Done: last})
		}
	}
	slices.SortFunc(list, func(x, y driver.Status) int {
		return cmp.Or(cmp.Compare(x.Key.Namespace, y.Key.Namespace), cmp.Compare(x.Key.Name, y.Key.Name))
	})
	return list, nil
}

// Inspect returns the state of one lock. The token of a free lock is zero, because etcd stores nothing about it.
func (b *Backend) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	queue := clientv3.OpGet(b.queue(key), clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	reply, err := b.commit(ctx, nil, []clientv3.Op{queue, b.recorded(key)}, nil)
	if err != nil {
		return driver.Status{Key: key}, fmt.Errorf("etcdlock: inspect %q: %w", key, ofRead(err))
	}
	s := driver.Status{Key: key}
	if kvs := reply.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		var left time.Duration
		if kvs[0].Lease != 0 {
			left, err = b.left(ctx, kvs[0])
		}
		s = status(key, kvs, left)
	}
	s.Done = tickOf(reply, 1).Done
	return s, err
}

// status returns the status of a lock from its queue, which begins with the oldest entry.
func status(key driver.Key, queue []*mvccpb.KeyValue, left time.Duration) driver.Status {
	first := queue[0]
	v, state := parseValue(first.Value), driver.StateHeld
	if first.Lease == 0 {
		state = driver.StatePaused
	}
	return driver.Status{
		Key: key, State: state, Token: driver.Token(first.CreateRevision), Holder: v.Holder, Note: v.Note,
		ExpiresIn: left, FreeIn: left, Waiters: waiting(queue),
	}
}

// waiting returns how many entries of a queue wait. An exclusive entry waits unless it is the oldest. A shared entry waits
// behind an exclusive entry.
func waiting(queue []*mvccpb.KeyValue) (n int) {
	blocked := false
	for i, kv := range queue {
		exclusive := isExclusive(string(kv.Key))
		if i > 0 && (exclusive || blocked) {
			n++
		}
		blocked = blocked || exclusive
	}
	return n
}

// left returns the remaining TTL of the session that kv belongs to, in whole seconds.
func (b *Backend) left(ctx context.Context, kv *mvccpb.KeyValue) (time.Duration, error) {
	lease, err := b.client.TimeToLive(ctx, clientv3.LeaseID(kv.Lease))
	if err != nil {
		return 0, err
	}
	return max(0, time.Duration(lease.TTL)*time.Second), nil
}

// ForceRelease implements [driver.Operator]. It deletes the holder's entry if the entry has the given token. Unless the
// parameter live is set, it refuses: every entry in etcd belongs to a living session or to a paused lock.
func (b *Backend) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	first, err := b.oldest(ctx, key)
	switch {
	case err != nil:
		return fmt.Errorf("etcdlock: force release of %q: %w", key, ofRead(err))
	case first == nil || first.CreateRevision != int64(token):
		return driver.ErrNotHeld
	case !live:
		return refusal(first)
	}
	same := clientv3.Compare(clientv3.CreateRevision(string(first.Key)), "=", first.CreateRevision)
	reply, err := b.commit(ctx, []clientv3.Cmp{same}, []clientv3.Op{clientv3.OpDelete(string(first.Key)), b.tell(first)}, nil)
	if err == nil && !reply.Succeeded {
		return driver.ErrNotHeld
	}
	return classify(err)
}

// tell returns the operation that writes the key of entry into the key of its session. The holder's process watches the
// session's key.
func (b *Backend) tell(entry *mvccpb.KeyValue) clientv3.Op {
	key := b.sessionKey(clientv3.LeaseID(entry.Lease))
	stands := clientv3.Compare(clientv3.CreateRevision(key), ">", 0)
	return clientv3.OpTxn([]clientv3.Cmp{stands}, []clientv3.Op{clientv3.OpPut(key, string(entry.Key), clientv3.WithIgnoreLease())}, nil)
}

// Prune implements [driver.Operator]. It deletes the tick of a free lock if the tick is at least as old as the
// parameter unused. It ignores later grants whose releases recorded no tick, because etcd stores nothing about them.
// The age of a tick is the difference between the clocks of two processes, because etcd stores no times.
func (b *Backend) Prune(ctx context.Context, unused time.Duration) (deleted int, err error) {
	reply, err := b.get(ctx, b.prefix+"/", clientv3.WithPrefix())
	if err != nil {
		return 0, fmt.Errorf("etcdlock: prune: %w", ofRead(err))
	}
	for _, kv := range reply.Kvs {
		key, isTick, _ := b.parse(string(kv.Key))
		if !isTick || parseTick(kv.Value).age() < unused {
			continue
		}
		same := clientv3.Compare(clientv3.ModRevision(string(kv.Key)), "=", kv.ModRevision)
		free := clientv3.Compare(clientv3.CreateRevision(b.queue(key)), "=", 0).WithPrefix()
		reply, err := b.commit(ctx, []clientv3.Cmp{same, free}, []clientv3.Op{clientv3.OpDelete(string(kv.Key))}, nil)
		if err != nil {
			return deleted, fmt.Errorf("etcdlock: prune the tick of %q: %w", key, classify(err))
		}
		if reply.Succeeded {
			deleted++
		}
	}
	return deleted, nil
}
