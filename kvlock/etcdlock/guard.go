package etcdlock

import (
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock"
)

// Guard returns a comparison that is true while etcd holds the lock of lease. In the If of a transaction, it makes etcd
// reject a write that comes too late, even if the holder does not know yet that it has lost the lock. Guard does no
// I/O. It fails if the lease has ended, or if another kind of store granted it. The lease must come from a Locker on b
// or on its shared form.
//
//	txn := client.Txn(ctx).If(guard).Then(clientv3.OpPut(key, value))
//
// The transaction must contain an operation, because the member that gets a transaction without any answers it alone,
// and may lag behind (IsTxnSerializable, server/etcdserver/txn/txn.go). A read is enough, unless it is
// WithSerializable.
//
// Data in etcd need no other fence. For data elsewhere use the token, with package fence.
func (b *Backend) Guard(lease *rowlock.Lease) (clientv3.Cmp, error) {
	if kind := lease.Backend(); kind != backendName {
		return clientv3.Cmp{}, fmt.Errorf("etcdlock: Guard: the lease on %q was granted by %q", lease.Name(), kind)
	}
	if err := lease.Err(); err != nil {
		return clientv3.Cmp{}, err
	}
	b.mu.Lock()
	h := b.holds[lease.Nonce()]
	b.mu.Unlock()
	if h == nil {
		return clientv3.Cmp{}, fmt.Errorf("etcdlock: Guard: the lease on %q has ended, or was granted by another Backend", lease.Name())
	}
	return clientv3.Compare(clientv3.CreateRevision(h.entry), "=", int64(lease.Token())), nil
}
