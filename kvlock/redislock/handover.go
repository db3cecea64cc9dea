package redislock

import (
	"context"
	"fmt"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

var handOverScript = redisbase.Load(files, "hand_over").WithLists()

var _ driver.HandOverer = (*Backend)(nil)

// HandOver implements [driver.HandOverer]. It sends one request, which may be repeated like the request of Acquire. If
// too few replicas confirm the new grant, HandOver releases it and fails. The old grant has ended by then, so the
// error must not be marked as not applied, which would mean that nothing has changed.
func (b *Backend) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	return do(ctx, b, "hand over", r.Key, func(ctx context.Context) (driver.Grant, error) { return b.handOver(ctx, from, r) })
}

func (b *Backend) handOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	remembered := b.options.retention + max(r.TTL+r.HandoverDelay, r.MinHold)
	waiter := b.places.Queued(r.Key)
	cmd, confirmed, err := b.write(ctx, handOverScript.On([]string{b.options.prefix.Encode(from.Key)},
		from.Nonce.String(), from.Token.String(), redisbase.Micros(from.MinHold),
		r.Nonce.String(), r.Holder, r.Note, redisbase.Micros(r.TTL), redisbase.Micros(r.MinHold), redisbase.Micros(r.HandoverDelay), remembered.Milliseconds(), waiter,
	))
	if err != nil {
		return driver.Grant{}, err
	}
	g, err := grantOf(r, cmd)
	switch {
	case err != nil:
		return driver.Grant{}, err
	case g.Token == 0:
		return driver.Grant{}, driver.ErrNotHeld
	}
	if waiter != "" {
		b.places.Granted(r.Key)
	}
	if confirmed < b.options.replicas {
		// The error must not match NotApplied, because the old grant has ended.
		return driver.Grant{}, fmt.Errorf("%s", b.unconfirmed(ctx, g, confirmed)) //nolint:errorlint // see above
	}
	return g, nil
}
