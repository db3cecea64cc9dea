package locktest

import (
	"context"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// keepsLostGrants refuses a repeated request, although its nonce holds the name. It also ignores a release without a
// token. So a grant whose reply was lost stays held.
type keepsLostGrants struct{ *memlock.Backend }

func (m keepsLostGrants) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return sameNonceRefused(m).Acquire(ctx, r)
}

func (m keepsLostGrants) Release(ctx context.Context, g driver.Grant) error {
	return needsToken(m).Release(ctx, g)
}
