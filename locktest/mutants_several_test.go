package locktest

import (
	"context"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// keepsLostGrants refuses the repeated request of a grant, and keeps a grant that is released without its token.
type keepsLostGrants struct{ *memlock.Backend }

func (m keepsLostGrants) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return sameNonceRefused(m).Acquire(ctx, r)
}

func (m keepsLostGrants) Release(ctx context.Context, g driver.Grant) error {
	return needsToken(m).Release(ctx, g)
}
