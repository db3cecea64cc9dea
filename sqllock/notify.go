package sqllock

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/driver"
)

// CloseIdle implements [driver.Idler]: a connection that listened for releases is closed, if nobody waits any more.
func (b *Backend) CloseIdle(ctx context.Context) {
	if i, ok := b.dialect.(driver.Idler); ok {
		i.CloseIdle(ctx)
	}
}

// Notify implements [driver.Notifier] where the dialect does. On MySQL and MariaDB it wakes nobody: it has a
// waiter served in its turn.
func (b *Backend) Notify(ctx context.Context, key driver.Key, wake func()) (stop func(), err error) {
	if n, ok := b.dialect.(driver.Notifier); ok {
		return n.Notify(ctx, key, wake)
	}
	return nil, errors.ErrUnsupported
}
