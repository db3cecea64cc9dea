package sqllock

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/driver"
)

var _ driver.Notifier = (*Backend)(nil)

var errNoWaiters = errors.New("sqllock: waiters are not told on this database")

// Notify makes key's releases reckon with a waiter of this process, and calls wake when key may be had by it: where
// the database can tell, which is what [driver.Capabilities] calls Wakes. It fails where waiters are not known.
func (b *Backend) Notify(ctx context.Context, key driver.Key, wake func()) (stop func(), err error) {
	n, ok := b.dialect.(driver.Notifier)
	if !ok {
		return nil, errNoWaiters
	}
	return n.Notify(ctx, key, wake)
}
