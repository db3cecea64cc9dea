package memlock

import (
	"context"

	"github.com/rowlock/rowlock/driver"
)

var _ driver.HandOverer = (*Backend)(nil)

// HandOver implements [driver.HandOverer].
func (b *Backend) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	return call(ctx, b, OpHandOver, func() (driver.Grant, error) { return b.handOver(from, r) })
}

func (b *Backend) handOver(from driver.Grant, r driver.Request) (driver.Grant, error) {
	now := b.now()
	l := b.rows[from.Key]
	if l != nil && l.nonce == r.Nonce {
		return b.acquire(r)
	}
	if !l.is(from) || !now.Before(l.expires) {
		return driver.Grant{}, driver.ErrNotHeld
	}
	if free := l.acquired.Add(from.MinHold); now.Before(free) {
		h := l.refusal(now)
		h.Reason, h.ExpiresIn = driver.MinHold, free.Sub(now)
		return driver.Grant{}, h
	}
	l.heldUntil = now
	return b.acquire(r)
}
