package memlock

import (
	"context"

	"github.com/rowlock/rowlock/driver"
)

// Pause implements [driver.Operator].
func (b *Backend) Pause(ctx context.Context, g driver.Grant, as driver.Nonce) error {
	_, err := call(ctx, b, OpPause, func() (struct{}, error) { return struct{}{}, b.pause(g, as) })
	return err
}

func (b *Backend) pause(g driver.Grant, as driver.Nonce) error {
	now := b.now()
	l := b.rows[g.Key]
	if l == nil || l.token != g.Token || l.nonce != as && (l.nonce != g.Nonce || !now.Before(l.expires)) {
		return driver.ErrNotHeld
	}
	l.nonce, l.expires = as, now.Add(driver.Endless)
	l.heldUntil = l.expires
	return nil
}
