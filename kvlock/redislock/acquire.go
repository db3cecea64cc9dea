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
	g, err := do(ctx, b, func(ctx context.Context) (driver.Grant, error) { return b.acquire(ctx, r) })
	var held *driver.Held
	if err != nil && !errors.As(err, &held) {
		err = redisbase.Describe(ctx, pkg, "acquire", r.Key, err)
	}
	return g, err
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
	token, tick, ok := granted(cmd)
	if ok && waiter != "" {
		b.places.Granted(r.Key)
	}
	if !ok {
		a, err := redisbase.Read(cmd)
		if err != nil {
			return driver.Grant{}, err
		}
		held := a.Held()
		// While readers hold the lock, a writer polls, because its requests keep later readers out.
		held.Listed = waiter != "" && held.Ahead < mostListed && held.Readers == 0 && b.wakes.Hears()
		return driver.Grant{}, held
	}
	g := driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: token, TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay, Shared: r.Shared}
	if confirmed < b.options.replicas {
		return driver.Grant{}, b.unconfirmed(ctx, g, confirmed)
	}
	g.Done = tick
	return g, nil
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

// granted decodes the reply of a script that has granted a lock: the token, and the last tick if the lock has one.
func granted(cmd *redis.Cmd) (token driver.Token, tick string, ok bool) {
	reply := cmd.Val()
	if pair, two := reply.([]any); two && len(pair) == 2 {
		reply = pair[0]
		tick, _ = pair[1].(string)
	}
	n, ok := reply.(int64)
	return driver.Token(n), tick, ok
}
