package zklock

import (
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// Guard returns the operation that succeeds for as long as lease lasts, in ZooKeeper's own order: as
// part of a multi it makes the servers refuse what comes too late, even if the holder does not know of
// its loss. It does no I/O. It fails on a lease that has ended, and on one that b did not grant, in
// the form, shared or not, that it is. Any client of the same ensemble may send it.
//
//	_, err := conn.Multi(guard, &zk.SetDataRequest{Path: path, Data: data, Version: -1})
//
// Data in ZooKeeper need no fence besides. Data elsewhere take the token, with package fence.
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
		return nil, fmt.Errorf("zklock: Guard: the lease on %q lives on no session of this backend: %w", lease.Name(), rowlock.ErrNotHeld)
	}
	return existence(e.path), nil
}
