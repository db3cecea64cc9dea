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

// Backend keeps locks in one Redis server or one Redis Cluster. It is safe for concurrent use. While callers wait, it
// keeps one subscription open, which wakes them. It never closes the client.
type Backend struct {
	client   redis.UniversalClient
	options  options
	err      error // an invalid option or client; nil if the backend can work
	checked  atomic.Bool
	warnings atomic.Pointer[warnings] // set by the first check of the server; nil before that
	heeds    bool                     // whether the client stops waiting for a reply at the deadline of ctx
	answers  atomic.Bool              // whether the server answered the last request
	wakes    *redisbase.Subscriber
	places   *redisbase.Places
}

var (
	_ driver.Backend  = (*Backend)(nil)
	_ driver.Notifier = (*Backend)(nil)
	_ driver.Operator = (*Backend)(nil)
)

// pkg is the package name with which error texts begin.
const pkg = "redislock"

// New makes a backend that keeps locks on the server or servers of client: a *redis.Client, such as Sentinel's failover
// client, or a *redis.ClusterClient. New does no I/O. The first operation checks that the server is fit for locks. If
// the server is not fit, the error says what to change.
func New(client redis.UniversalClient, opts ...Option) *Backend {
	o := options{prefix: DefaultPrefix, retention: DefaultRetention}
	for _, opt := range opts {
		opt(&o)
	}
	b := &Backend{client: client, options: o, err: o.validate(client), heeds: heedsDeadlines(client), places: redisbase.NewPlaces()}
	b.wakes = redisbase.NewSubscriber(client, o.prefix.Waiters()+b.places.ID.String())
	return b
}

// Capabilities implements [driver.Backend]. Tokens are best effort: after a failover to a replica that lags, tokens
// rise only if the clocks of the two servers differ by less than the duration of the failover. The warnings come from
// the check that the first operation makes. They are about weak persistence, about eviction, and about replicas if
// grants do not wait for them. When a waiter has found that the account may not SUBSCRIBE, there is a warning for that
// too.
func (b *Backend) Capabilities() driver.Capabilities {
	c := driver.Capabilities{Backend: "redislock", Token: driver.BestEffortToken, Wakes: true, Shares: true, Pauses: true, Ticks: true, Invalid: b.err}
	if redisbase.IsCluster(b.client) {
		c.Backend = "redislock/cluster"
	}
	if found := b.warnings.Load(); found != nil {
		c.Warnings = found.list
	}
	if err := b.wakes.Refused(); err != nil {
		c.Warnings = append(slices.Clip(c.Warnings), fmt.Sprintf("waiters are not notified of a release, so they poll: %v", err))
	}
	return c
}

var (
	errNoClient = errors.New("redislock: the client is nil")
	errRing     = errors.New("redislock: a redis.Ring moves keys when a shard is down, so it would grant one name twice: use one server or a Cluster")
)

// heedsDeadlines reports whether the requests of client end at the deadline of their ctx.
func heedsDeadlines(client redis.UniversalClient) bool {
	c, one := client.(*redis.Client)
	if !one || c == nil {
		return false
	}
	o := c.Options()
	return o.ContextTimeoutEnabled && o.ReadTimeout >= 0 && o.WriteTimeout >= 0 // with a negative timeout, go-redis never sets a deadline
}

// do makes one request, see send, and describes its error. A refusal, and the error that a grant is not held, are
// returned as they are.
func do[T any](ctx context.Context, b *Backend, operation string, key driver.Key, request func(context.Context) (T, error)) (T, error) {
	value, err := send(ctx, b, request)
	return value, describe(ctx, operation, key, err)
}

func describe(ctx context.Context, operation string, key driver.Key, err error) error {
	var held *driver.Held
	if err == nil || errors.As(err, &held) || errors.Is(err, driver.ErrNotHeld) {
		return err
	}
	return redisbase.Describe(ctx, pkg, operation, key, err)
}

// send makes one request, after a check that the server is fit for locks. The request runs in a goroutine, so that send
// can return when ctx ends. While go-redis reads a reply, a cancellation of ctx never ends the request. The deadline of ctx
// ends it only with ContextTimeoutEnabled. The goroutine of an abandoned request ends with the client's own timeouts,
// or when the client is closed.
//
// If the client heeds deadlines and the server answered the last request, send makes the request without a goroutine.
// Switching goroutines would take as long as the server needs for a request. If the server hangs during that request,
// the deadline of ctx ends the request, but a cancellation does not.
func send[T any](ctx context.Context, b *Backend, request func(context.Context) (T, error)) (T, error) {
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
	var begun atomic.Bool // set when the request starts, or when ctx ends before the request starts
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

// note records whether the server answered a request, and classifies the result of the request.
func (b *Backend) note(err error) error {
	var said redis.Error
	var held *driver.Held
	b.answers.Store(err == nil || errors.As(err, &said) || errors.As(err, &held) || errors.Is(err, driver.ErrNotHeld))
	return b.classify(err)
}

// classify marks err as the driver contract requires.
func (b *Backend) classify(err error) error {
	if redisbase.IsCluster(b.client) && redisbase.Says(err, "MOVED") {
		return err // this error is not permanent: when the client retries, it finds the right server
	}
	return redisbase.Classify(err)
}
