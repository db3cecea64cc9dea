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

// List implements [driver.Operator]. It returns the held locks, because etcd stores nothing about free ones. For a
// shared lock, List and Inspect show the oldest grant.
func (b *Backend) List(ctx context.Context, namespace string, all bool) ([]driver.Status, error) {
	under := b.under(namespace)
	if all {
		under = b.prefix + "/"
	}
	reply, err := b.get(ctx, under, clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		return nil, fmt.Errorf("etcdlock: list locks: %w", ofRead(err))
	}
	seen := make(map[driver.Key]bool)
	var list []driver.Status
	left := make(map[int64]time.Duration)
	for _, kv := range reply.Kvs {
		key, ok := b.parse(string(kv.Key))
		if !ok || seen[key] {
			continue
		}
		seen[key] = true
		if _, asked := left[kv.Lease]; !asked && kv.Lease != 0 {
			if left[kv.Lease], err = b.left(ctx, kv); err != nil {
				return nil, err
			}
		}
		list = append(list, status(key, kv, left[kv.Lease]))
	}
	slices.SortFunc(list, func(x, y driver.Status) int {
		return cmp.Or(cmp.Compare(x.Key.Namespace, y.Key.Namespace), cmp.Compare(x.Key.Name, y.Key.Name))
	})
	return list, nil
}

// Inspect returns the state of one lock. The token of a free lock is zero, because etcd stores nothing about it.
func (b *Backend) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	first, err := b.oldest(ctx, key)
	if err != nil {
		return driver.Status{Key: key}, fmt.Errorf("etcdlock: inspect %q: %w", key, ofRead(err))
	}
	if first == nil {
		return driver.Status{Key: key}, nil
	}
	if first.Lease == 0 {
		return status(key, first, 0), nil
	}
	left, err := b.left(ctx, first)
	return status(key, first, left), err
}

func status(key driver.Key, first *mvccpb.KeyValue, left time.Duration) driver.Status {
	v, state := parseValue(first.Value), driver.StateHeld
	if first.Lease == 0 {
		state = driver.StatePaused
	}
	return driver.Status{
		Key: key, State: state, Token: driver.Token(first.CreateRevision), Holder: v.Holder, Note: v.Note,
		ExpiresIn: left, FreeIn: left,
	}
}

// left returns the remaining TTL of the session that kv belongs to, in whole seconds.
func (b *Backend) left(ctx context.Context, kv *mvccpb.KeyValue) (time.Duration, error) {
	lease, err := b.client.TimeToLive(ctx, clientv3.LeaseID(kv.Lease))
	if err != nil {
		return 0, err
	}
	return max(0, time.Duration(lease.TTL)*time.Second), nil
}

// ForceRelease implements [driver.Operator]. It deletes the holder's entry if the entry has that token. It refuses
// unless live is set, because every entry in etcd belongs to a living session or to a paused lock.
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

// Prune implements [driver.Operator]. There is nothing to delete, because etcd stores nothing about free locks.
func (b *Backend) Prune(context.Context, time.Duration) (int, error) { return 0, nil }
