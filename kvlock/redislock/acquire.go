package redislock

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/driver"
)

// Acquire implements [driver.Backend]: one request, sent again by the client or by the caller as often
// as need be, because its nonce is recognised.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := do(ctx, b, func(ctx context.Context) (driver.Grant, error) { return b.acquire(ctx, r) })
	var held *driver.Held
	if err != nil && !errors.As(err, &held) {
		err = describe(ctx, "acquire", r.Key, err)
	}
	return g, err
}

func (b *Backend) acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	remembered := b.options.retention + max(r.TTL+r.HandoverDelay, r.MinHold)
	waiter := ""
	if r.Waiting {
		waiter = b.places.asks(r.Key)
	}
	what := call{acquireScript, b.recorded(b.options.encode(r.Key)), []any{
		r.Nonce.String(), r.Holder, r.Note, micros(r.TTL), micros(r.MinHold), micros(r.HandoverDelay), remembered.Milliseconds(), waiter,
	}}
	cmd, confirmed, err := b.write(ctx, what)
	if err != nil {
		return driver.Grant{}, err
	}
	token, granted := cmd.Val().(int64)
	if granted && waiter != "" {
		b.places.granted(r.Key)
	}
	if !granted {
		a, err := read(cmd)
		if err != nil {
			return driver.Grant{}, err
		}
		return driver.Grant{}, a.held()
	}
	g := driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: driver.Token(token), TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay}
	if confirmed < b.options.replicas {
		return driver.Grant{}, b.unconfirmed(ctx, g, confirmed)
	}
	return g, nil
}
