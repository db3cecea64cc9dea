package zklock

import (
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// Guard returns an operation that succeeds while lease holds its lock in ZooKeeper. Put the operation into a multi.
// The servers then reject a write of a holder that has lost the lock, even if the holder does not know of the loss
// yet. Guard does no I/O. Guard fails if the lease has ended, or if another backend than b granted the lease. The
// operation for a reader's lease succeeds while that reader holds its share. Any client of the same ensemble may send
// the operation.
//
//	_, err := conn.Multi(guard, &zk.SetDataRequest{Path: path, Data: data, Version: -1})
//
// Data in ZooKeeper needs no other fence. For data elsewhere use the token, with package fence.
func (b *Backend) Guard(lease *rowlock.Lease) (*zk.CheckVersionRequest, error) {
	if kind := lease.Backend(); kind != backendName {
		return nil, fmt.Errorf("zklock: Guard: the lease on %q was granted by %q", lease.Name(), kind)
	}
	if err := lease.Err(); err != nil {
		return nil, err
	}
	e := b.held(driver.Grant{
		Key: driver.Key{Namespace: lease.Namespace(), Name: lease.Name()}, Nonce: lease.Nonce(), Token: lease.Token(),
	})
	if e == nil {
		return nil, fmt.Errorf("zklock: Guard: the lease on %q is on no session of this backend: %w", lease.Name(), rowlock.ErrNotHeld)
	}
	return existence(e.path), nil
}
