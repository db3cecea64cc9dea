package redislock

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

var handOverScript = redisbase.LoadQueued(files, "hand_over")

var _ driver.HandOverer = (*Backend)(nil)

// HandOver implements [driver.HandOverer]. It sends one request, which may be repeated like the request of Acquire. If
// too few replicas confirm the new grant, HandOver releases it and fails. The old grant has ended by then, so the
// error must not be marked as not applied, which would mean that nothing has changed.
func (b *Backend) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	g, err := do(ctx, b, func(ctx context.Context) (driver.Grant, error) { return b.handOver(ctx, from, r) })
	var held *driver.Held
	if err != nil && !errors.As(err, &held) && !errors.Is(err, driver.ErrNotHeld) {
		err = redisbase.Describe(ctx, pkg, "hand over", r.Key, err)
	}
	return g, err
}

func (b *Backend) handOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	remembered := b.options.retention + max(r.TTL+r.HandoverDelay, r.MinHold)
	waiter := b.places.Of(r.Key)
	cmd, confirmed, err := b.write(ctx, handOverScript.On([]string{b.options.prefix.Encode(from.Key)},
		from.Nonce.String(), from.Token.String(), redisbase.Micros(from.MinHold),
		r.Nonce.String(), r.Holder, r.Note, redisbase.Micros(r.TTL), redisbase.Micros(r.MinHold), redisbase.Micros(r.HandoverDelay), remembered.Milliseconds(), waiter,
	))
	if err != nil {
		return driver.Grant{}, err
	}
	token, tick, settled := granted(cmd)
	switch {
	case !settled:
		a, err := redisbase.Read(cmd)
		if err != nil {
			return driver.Grant{}, err
		}
		return driver.Grant{}, a.Held()
	case token == 0:
		return driver.Grant{}, driver.ErrNotHeld
	}
	if waiter != "" {
		b.places.Granted(r.Key)
	}
	g := driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: token, TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay}
	if confirmed < b.options.replicas {
		// The error must not match NotApplied, because the old grant has ended.
		return driver.Grant{}, fmt.Errorf("%s", b.unconfirmed(ctx, g, confirmed)) //nolint:errorlint // see above
	}
	g.Done = tick
	return g, nil
}
