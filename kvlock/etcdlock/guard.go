package etcdlock

import (
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock"
)

// Guard returns the comparison that holds for as long as lease does, in etcd's own order: in the If of
// a transaction it makes etcd refuse what comes too late, even if the holder does not know of its loss.
// It does no I/O. It fails on a lease that has ended, and on one that another kind of store granted.
// The lease must come from a Locker on b or on its shared form.
//
//	txn := client.Txn(ctx).If(guard).Then(clientv3.OpPut(key, value))
//
// The transaction must do something: etcd answers one without operations from whichever member was asked, which may lag behind
// (IsTxnSerializable, server/etcdserver/txn/txn.go). A read in it is enough, unless it is WithSerializable.
//
// Data in etcd need no fence besides. Data elsewhere take the token, with package fence.
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
