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
	queues := make(map[driver.Key][]*mvccpb.KeyValue)
	done, epochs := make(map[driver.Key]string), make(map[driver.Key]driver.Token)
	var list []driver.Status
	left := make(map[int64]time.Duration)
	for _, kv := range reply.Kvs {
		key, last, ok := b.parse(string(kv.Key))
		switch {
		case !ok:
		case last == tickMark:
			done[key] = parseTick(kv.Value).Done
		case last == epochMark:
			epochs[key] = parseEpoch(kv)
		default:
			queues[key] = append(queues[key], kv)
		}
	}
	for key, queue := range queues {
		holder, _, _ := head(queue, epochs[key])
		lease := holder.Lease
		if _, asked := left[lease]; !asked && lease != 0 {
			if left[lease], err = b.left(ctx, holder); err != nil {
				return nil, err
			}
		}
		s := status(key, queue, epochs[key], left[lease])
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
	reply, err := b.commit(ctx, nil, []clientv3.Op{b.line(key), b.recorded(key), b.epoch(key)}, nil)
	if err != nil {
		return driver.Status{Key: key}, fmt.Errorf("etcdlock: inspect %q: %w", key, ofRead(err))
	}
	s := driver.Status{Key: key}
	if kvs := reply.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		var left time.Duration
		epoch := epochOf(reply, 2)
		if holder, _, _ := head(kvs, epoch); holder.Lease != 0 {
			left, err = b.left(ctx, holder)
		}
		s = status(key, kvs, epoch, left)
	}
	s.Done = tickOf(reply, 1).Done
	return s, err
}

// status returns the status of a lock from its queue, which begins with the oldest entry.
func status(key driver.Key, queue []*mvccpb.KeyValue, epoch driver.Token, left time.Duration) driver.Status {
	holder, token, readers := head(queue, epoch)
	v, state := parseValue(holder.Value), driver.StateHeld
	if holder.Lease == 0 {
		state = driver.StatePaused
	}
	return driver.Status{
		Key: key, State: state, Token: token, Holder: v.Holder, Note: v.Note,
		ExpiresIn: left, FreeIn: left, Readers: readers, Waiters: waiting(queue),
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

// ForceRelease implements [driver.Operator]. It deletes the holder's entry if the lock has the given token. If readers
// hold the lock, it deletes the epoch and the entries of all readers. This also deletes the entries of readers that
// wait behind a writer, and those readers put new entries at the end of the queue. Unless the parameter live is set,
// ForceRelease refuses: every entry in etcd belongs to a living session or to a paused lock.
func (b *Backend) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	const attempts = 10 // the readers may change between the two requests of an attempt
	for range attempts {
		reply, err := b.commit(ctx, nil, []clientv3.Op{b.line(key), b.epoch(key)}, nil)
		if err != nil {
			return fmt.Errorf("etcdlock: force release of %q: %w", key, ofRead(err))
		}
		queue := reply.Responses[0].GetResponseRange().Kvs
		holder, current, readers := head(queue, epochOf(reply, 1))
		switch {
		case holder == nil || current != token:
			return driver.ErrNotHeld
		case !live:
			held := heldBy(holder, current)
			held.Readers = readers
			return held
		}
		released := false
		if readers == 0 {
			released, err = b.forceOne(ctx, holder)
		} else {
			var minted int64
			if kvs := reply.Responses[1].GetResponseRange().Kvs; len(kvs) > 0 {
				minted = kvs[0].ModRevision
			}
			released, err = b.forceAll(ctx, key, holder, minted, queue)
		}
		if err != nil || released {
			return classify(err)
		}
	}
	return fmt.Errorf("etcdlock: force release of %q: the readers changed during each of %d attempts", key, attempts)
}

// forceOne deletes the entry of an exclusive holder. It reports whether the entry still existed.
func (b *Backend) forceOne(ctx context.Context, entry *mvccpb.KeyValue) (bool, error) {
	same := clientv3.Compare(clientv3.CreateRevision(string(entry.Key)), "=", entry.CreateRevision)
	named := string(entry.Key)
	reply, err := b.commit(ctx, []clientv3.Cmp{same}, []clientv3.Op{clientv3.OpDelete(named), b.tell(entry.Lease, named)}, nil)
	return err == nil && reply.Succeeded, err
}

// forceAll deletes the shares of a lock and the key of its epoch. It deletes nothing if the entry in the parameter
// reader is gone, or if the epoch has changed. The parameter minted is the revision of the epoch's key, or zero. etcd
// limits the number of operations in a transaction, so forceAll notifies the processes of the readers in further
// transactions. A process that is not notified learns of the loss with its next renewal.
func (b *Backend) forceAll(ctx context.Context, key driver.Key, reader *mvccpb.KeyValue, minted int64, queue []*mvccpb.KeyValue) (bool, error) {
	same := []clientv3.Cmp{
		clientv3.Compare(clientv3.CreateRevision(string(reader.Key)), "=", reader.CreateRevision),
		clientv3.Compare(clientv3.ModRevision(b.epochKey(key)), "=", minted),
	}
	shares := b.shares(key)
	reply, err := b.commit(ctx, same, []clientv3.Op{clientv3.OpDelete(shares, clientv3.WithPrefix()), clientv3.OpDelete(b.epochKey(key))}, nil)
	if err != nil || !reply.Succeeded {
		return false, err
	}
	var tells []clientv3.Op
	told := make(map[int64]bool)
	for _, entry := range queue {
		if !isExclusive(string(entry.Key)) && !told[entry.Lease] {
			told[entry.Lease] = true
			tells = append(tells, b.tell(entry.Lease, namesShares(shares, reply.Header.Revision)))
		}
	}
	const part = 50 // etcd permits 128 operations in a transaction by default
	for some := range slices.Chunk(tells, part) {
		_, _ = b.commit(ctx, nil, some, nil)
	}
	return true, nil
}

// tell returns the operation that notifies the process of a session, which watches the session's key. The operation
// writes the parameter named into the session's key, if that key exists. The parameter named is the key of one entry,
// or a text that means several shares (see namesShares).
func (b *Backend) tell(lease int64, named string) clientv3.Op {
	key := b.sessionKey(clientv3.LeaseID(lease))
	stands := clientv3.Compare(clientv3.CreateRevision(key), ">", 0)
	return clientv3.OpTxn([]clientv3.Cmp{stands}, []clientv3.Op{clientv3.OpPut(key, named, clientv3.WithIgnoreLease())}, nil)
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
		free := clientv3.Compare(clientv3.CreateRevision(b.queue(key)), "=", 0).WithPrefix()
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
