package etcdlock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// List implements [driver.Operator]. It returns the locks that are held or have a tick, because etcd stores nothing
// about other locks. If readers hold a lock, List and Inspect describe the reader that acquired its share last, and
// the time until that reader's share expires.
func (b *Backend) List(ctx context.Context, namespace string, all bool) ([]driver.Status, error) {
	under := b.under(namespace)
	if all {
		under = b.prefix + "/"
	}
	reply, err := b.get(ctx, under, clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		return nil, fmt.Errorf("etcdlock: list locks: %w", ofRead(err))
	}
	views := make(map[driver.Key]view)
	for _, kv := range reply.Kvs {
		key, last, ok := b.parse(string(kv.Key))
		if !ok {
			continue
		}
		v := views[key]
		switch last {
		case tickMark:
			v.tick = parseTick(kv.Value)
		case epochMark:
			v.epoch = parseEpoch(kv)
		default:
			v.queue = append(v.queue, kv)
		}
		views[key] = v
	}
	var list []driver.Status
	left := make(map[int64]time.Duration)
	for key, v := range views {
		holder, _, _ := v.head()
		if _, known := left[holder.Lease]; !known {
			if left[holder.Lease], err = b.left(ctx, holder.Lease); err != nil {
				return nil, err
			}
		}
		if s := v.status(key, left[holder.Lease]); s.State != driver.StateFree || s.Done != "" {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(x, y driver.Status) int {
		return cmp.Or(cmp.Compare(x.Key.Namespace, y.Key.Namespace), cmp.Compare(x.Key.Name, y.Key.Name))
	})
	return list, nil
}

// Inspect returns the state of one lock. The token of a free lock is zero, because etcd stores nothing about it.
func (b *Backend) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	v, err := b.inspect(ctx, key)
	if err != nil {
		return driver.Status{Key: key}, fmt.Errorf("etcdlock: inspect %q: %w", key, err)
	}
	holder, _, _ := v.head()
	left, err := b.left(ctx, holder.Lease)
	return v.status(key, left), err
}

// left returns the remaining TTL of an etcd lease, in whole seconds. A free or paused lock has no lease.
func (b *Backend) left(ctx context.Context, lease int64) (time.Duration, error) {
	if lease == 0 {
		return 0, nil
	}
	reply, err := b.client.TimeToLive(ctx, clientv3.LeaseID(lease))
	if err != nil {
		return 0, err
	}
	return max(0, time.Duration(reply.TTL)*time.Second), nil
}

// ForceRelease implements [driver.Operator]. It deletes the holder's key if the lock has the given token. If readers
// hold the lock, it deletes the epoch and the keys of all readers. This also deletes the keys of readers that wait
// behind a writer, and those readers put new keys at the end of the queue. Unless the parameter live is set,
// ForceRelease refuses: every key in the queue belongs to a living session or to a paused lock.
func (b *Backend) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	const attempts = 10 // the readers may change between the two requests of an attempt
	for range attempts {
		v, err := b.inspect(ctx, key)
		if err != nil {
			return fmt.Errorf("etcdlock: force release of %q: %w", key, err)
		}
		switch _, current, _ := v.head(); {
		case current == 0 || current != token:
			return driver.ErrNotHeld
		case !live:
			return v.held(driver.Request{})
		}
		if released, err := b.force(ctx, key, v); err != nil || released {
			return classify(err)
		}
	}
	return fmt.Errorf("etcdlock: force release of %q: the readers changed during each of %d attempts", key, attempts)
}

// force deletes the holder's key, or the keys of all readers and the key of their epoch. It deletes nothing if the
// holder's key is gone, or if the readers have begun their epoch meanwhile. In the same transaction it notifies the processes of the holders,
// which watch the keys of their sessions: it writes the prefix of the queue into those keys. etcd limits the number of
// operations in a transaction. A process that is not notified learns of the loss with its next renewal.
func (b *Backend) force(ctx context.Context, key driver.Key, v view) (bool, error) {
	const most = 100 // etcd permits 128 operations in a transaction by default
	holder, _, readers := v.head()
	same := []clientv3.Cmp{created(string(holder.Key), holder.CreateRevision)}
	if v.epoch == 0 {
		same = append(same, absent(b.epochKey(key)))
	}
	then := []clientv3.Op{clientv3.OpDelete(string(holder.Key))}
	if readers > 0 {
		then = []clientv3.Op{clientv3.OpDelete(b.shares(key), clientv3.WithPrefix()), clientv3.OpDelete(b.epochKey(key))}
	}
	told := make(map[int64]bool)
	for _, entry := range v.queue[:max(1, readers)] {
		if told[entry.Lease] || len(told) == most {
			continue
		}
		told[entry.Lease] = true
		session := b.sessionKey(clientv3.LeaseID(entry.Lease))
		tell := clientv3.OpPut(session, b.queue(key), clientv3.WithIgnoreLease())
		then = append(then, clientv3.OpTxn([]clientv3.Cmp{absent(session)}, nil, []clientv3.Op{tell}))
	}
	reply, err := b.commit(ctx, same, then, nil)
	return err == nil && reply.Succeeded, err
}

// Prune implements [driver.Operator]. It deletes the tick of a free lock if the tick is at least as old as the
// parameter unused. It also deletes the epoch of a free lock, but the result counts only ticks. A later grant whose
// release recorded no tick does not make the tick younger, because etcd stores nothing about that grant. The age of a
// tick is the difference between the clocks of two processes, because etcd stores no times.
func (b *Backend) Prune(ctx context.Context, unused time.Duration) (deleted int, err error) {
	reply, err := b.get(ctx, b.prefix+"/", clientv3.WithPrefix())
	if err != nil {
		return 0, fmt.Errorf("etcdlock: prune: %w", ofRead(err))
	}
	for _, kv := range reply.Kvs {
		key, last, _ := b.parse(string(kv.Key))
		if last != epochMark && (last != tickMark || parseTick(kv.Value).age() < unused) {
			continue
		}
		same := clientv3.Compare(clientv3.ModRevision(string(kv.Key)), "=", kv.ModRevision)
		free := absent(b.queue(key)).WithPrefix()
		reply, err := b.commit(ctx, []clientv3.Cmp{same, free}, []clientv3.Op{clientv3.OpDelete(string(kv.Key))}, nil)
		if err != nil {
			return deleted, fmt.Errorf("etcdlock: prune %q: %w", key, classify(err))
		}
		if reply.Succeeded && last == tickMark {
			deleted++
		}
	}
	return deleted, nil
}
