package redislock

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// Acquire implements [driver.Backend]. It sends one request. The client or the caller may repeat the request, because
// the server recognizes the nonce.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return do(ctx, b, "acquire", r.Key, func(ctx context.Context) (driver.Grant, error) { return b.acquire(ctx, r) })
}

func (b *Backend) acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	waiter := ""
	if r.Waiting {
		waiter = b.places.Asks(r.Key)
	}
	cmd, confirmed, err := b.write(ctx, b.ask(r, waiter))
	if err != nil {
		return driver.Grant{}, err
	}
	g, err := grantOf(r, cmd)
	if held := new(driver.Held); errors.As(err, &held) {
		// While readers hold the lock, a writer polls, because its requests keep later readers out.
		held.Listed = waiter != "" && held.Ahead < mostListed && held.Readers == 0 && b.wakes.Hears()
	}
	if err != nil {
		return driver.Grant{}, err
	}
	if waiter != "" {
		b.places.Granted(r.Key)
	}
	if confirmed < b.options.replicas {
		return driver.Grant{}, b.unconfirmed(ctx, g, confirmed)
	}
	return g, nil
}

// grantOf decodes the reply to the request r. A grant is the token, and with it the last tick if the lock has one.
// Anything else is a refusal.
func grantOf(r driver.Request, cmd *redis.Cmd) (driver.Grant, error) {
	g := driver.Grant{Key: r.Key, Nonce: r.Nonce, TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay, Shared: r.Shared}
	reply := cmd.Val()
	if pair, two := reply.([]any); two && len(pair) == 2 {
		reply = pair[0]
		g.Done, _ = pair[1].(string)
	}
	if token, ok := reply.(int64); ok {
		g.Token = driver.Token(token)
		return g, nil
	}
	a, err := redisbase.Read(cmd)
	if err != nil {
		return driver.Grant{}, err
	}
	return driver.Grant{}, a.Held()
}

// ask returns the call that requests the lock. The parameter waiter is the id of this process in the queue, or "".
func (b *Backend) ask(r driver.Request, waiter string) redisbase.Call {
	keys := b.recorded(b.options.prefix.Encode(r.Key))
	if r.Shared {
		return acquireShareScript.On(keys,
			r.Nonce.String(), r.Holder, r.Note, redisbase.Micros(r.TTL), b.options.retention.Milliseconds(), waiter, b.options.prefix.Waiters(), b.elsewhere(),
		)
	}
	remembered := b.options.retention + max(r.TTL+r.HandoverDelay, r.MinHold)
	var reserve time.Duration
	if r.Waits {
		reserve = driver.WriterReserve
	}
	return acquireScript.On(keys,
		r.Nonce.String(), r.Holder, r.Note, redisbase.Micros(r.TTL), redisbase.Micros(r.MinHold), redisbase.Micros(r.HandoverDelay), remembered.Milliseconds(), waiter, redisbase.Micros(reserve),
	)
}
