package etcdlock

import (
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// Guard returns a comparison that is true while lease holds its lock in etcd. Put the comparison into the If of a
// transaction. etcd then rejects a write of a holder that has lost the lock, even if the holder does not know of the
// loss yet. Guard does no I/O. It fails if the lease has ended, or if another kind of store granted it. The lease must
// come from a Locker that uses b. The guard of a reader is true while that reader holds its share.
//
//	txn := client.Txn(ctx).If(guard).Then(clientv3.OpPut(key, value))
//
// The transaction must contain at least one operation. If a transaction has no operation, one member answers it without
// the other members, from data that may lag behind the cluster (IsTxnSerializable, server/etcdserver/txn/txn.go). A
// read is enough, unless it is WithSerializable.
//
// Data in etcd needs no other fence. For data elsewhere use the token, with package fence.
func (b *Backend) Guard(lease *rowlock.Lease) (clientv3.Cmp, error) {
	if kind := lease.Backend(); kind != backendName {
		return clientv3.Cmp{}, fmt.Errorf("etcdlock: Guard: the lease on %q was granted by %q", lease.Name(), kind)
	}
	if err := lease.Err(); err != nil {
		return clientv3.Cmp{}, err
	}
	key := driver.Key{Namespace: lease.Namespace(), Name: lease.Name()}
	e, h := b.held(driver.Grant{Key: key, Nonce: lease.Nonce(), Token: lease.Token(), Shared: lease.Shared()})
	if e == nil {
		return clientv3.Cmp{}, fmt.Errorf("etcdlock: Guard: the lease on %q has ended, or was granted by another Backend", lease.Name())
	}
	return created(e.path, h.revision), nil
}
