package redislock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// Backend keeps locks in one Redis or in one Redis Cluster. It is safe for concurrent use and owns
// nothing but the subscription that wakes waiters, while somebody waits: the client stays the caller's
// to close.
type Backend struct {
	client   redis.UniversalClient
	options  options
	err      error // why it cannot work
	checked  atomic.Bool
	warnings atomic.Pointer[warnings] // what the check found; nil before it
	heeds    bool                     // the client heeds a deadline while it waits for a reply
	answers  atomic.Bool              // the last request was answered
	wakes    *redisbase.Subscriber
	places   *redisbase.Places
}

var (
	_ driver.Backend  = (*Backend)(nil)
	_ driver.Notifier = (*Backend)(nil)
	_ driver.Operator = (*Backend)(nil)
)

// pkg is how errors begin.
const pkg = "redislock"

// New keeps locks behind client: a *redis.Client, which Sentinel's failover client is too, or a
// *redis.ClusterClient. It does no I/O; the first call asks the server whether it is fit for locks,
// and fails with a sentence that says what to change when it is not.
func New(client redis.UniversalClient, opts ...Option) *Backend {
	o := options{prefix: DefaultPrefix, retention: DefaultRetention}
	for _, opt := range opts {
		opt(&o)
	}
	b := &Backend{client: client, options: o, err: o.validate(client), heeds: heedsDeadlines(client), places: redisbase.NewPlaces()}
	b.wakes = redisbase.NewSubscriber(client, o.prefix.Waiters()+b.places.ID.String())
	return b
}

// Capabilities implements [driver.Backend]. Tokens are best effort: a failover to a replica that lags
// is survived only as far as the clocks of the two servers agree. The warnings are of what the first call
// has found, if there was one: persistence that is weak, replicas that are not waited for, eviction. One more says
// that the account may not SUBSCRIBE, once a waiter has found out.
func (b *Backend) Capabilities() driver.Capabilities {
	c := driver.Capabilities{Backend: "redislock", Token: driver.BestEffortToken, Wakes: true, Pauses: true, Invalid: b.err}
	if redisbase.IsCluster(b.client) {
		c.Backend = "redislock/cluster"
	}
	if found := b.warnings.Load(); found != nil {
		c.Warnings = found.list
	}
	if err := b.wakes.Refused(); err != nil {
		c.Warnings = append(slices.Clip(c.Warnings), fmt.Sprintf("nobody is notified of a release, and waiters poll: %v", err))
	}
	return c
}

var (
	errNoClient = errors.New("redislock: the client is nil")
	errRing     = errors.New("redislock: a redis.Ring moves keys when a shard is down, and so grants one name twice; use one server or a Cluster")
)

// heedsDeadlines says whether client's requests end with the deadline of their ctx.
func heedsDeadlines(client redis.UniversalClient) bool {
	c, one := client.(*redis.Client)
	if !one || c == nil {
		return false
	}
	o := c.Options()
	return o.ContextTimeoutEnabled && o.ReadTimeout >= 0 && o.WriteTimeout >= 0 // negative: no deadline is ever set
}

// do makes one request, once the server is known to be fit for locks. It returns when ctx ends at the
// latest, whatever the client's options say: go-redis heeds a deadline while it reads only with
// ContextTimeoutEnabled, and an end without a deadline not even then. The goroutine of a request that
// was left ends with the client's own timeouts, or when the client is closed.
//
// With a client that heeds deadlines, and a server that has answered the last time, the request is made
// without a goroutine, because the switch to one and back takes as long as the server does. Should the server
// hang in just that request, ctx's deadline ends it, and an end without one does not.
func do[T any](ctx context.Context, b *Backend, request func(context.Context) (T, error)) (T, error) {
	var none T
	if b.err != nil {
		return none, driver.Permanent(b.err)
	}
	if err := ctx.Err(); err != nil {
		return none, driver.NotApplied(err)
	}
	if _, bounded := ctx.Deadline(); bounded && b.heeds && b.answers.Load() {
		value, err := request(ctx)
		return value, b.note(err)
	}
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	var begun atomic.Bool // the request, or the end of the wait for it
	go func() {
		if err := b.preflight(ctx); err != nil {
			answers <- answer{err: err}
			return
		}
		if !begun.CompareAndSwap(false, true) {
			return
		}
		value, err := request(ctx)
		answers <- answer{value, b.note(err)}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		b.answers.Store(false)
		if begun.CompareAndSwap(false, true) {
			return none, driver.NotApplied(ctx.Err())
		}
		return none, ctx.Err()
	}
}

// note classifies what a request came to, and remembers whether the server answered.
func (b *Backend) note(err error) error {
	var said redis.Error
	var held *driver.Held
	b.answers.Store(err == nil || errors.As(err, &said) || errors.As(err, &held) || errors.Is(err, driver.ErrNotHeld))
	if redisbase.IsCluster(b.client) && redisbase.Says(err, "MOVED") {
		return err // such a client finds the server with another attempt
	}
	return redisbase.Classify(err)
}
