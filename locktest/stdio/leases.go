package stdio

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/stdiotimes"
)

var leaseCases = []leaseCase{
	{
		name:    "program-keeps-its-lease",
		promise: "The program renews its lease until it unlocks. Then the name is free at once.",
		run:     keepsItsLease,
	},
	{
		name:    "program-counts-from-before-the-request",
		promise: "The deadline of a lease is counted from before the request was sent, for the grant and for each renewal. So it is never later than the expiry in the store.",
		run:     countsFromBefore,
	},
	{
		name:    "program-stops-first",
		promise: "A program that is cut off from the store stops trusting its lease before the store grants the name to another client, and never trusts that lease again.",
		run:     stopsFirst,
	},
	{
		name:    "program-repeats-with-its-nonce",
		promise: "If the reply to an acquire is lost, the program repeats the request with the same nonce, and gets the lease of the first request.",
		run:     repeatsWithItsNonce,
	},
	{
		name:    "program-leaves-nothing",
		promise: "If the program gives up an acquire whose reply was lost, it releases in the background what the store may have granted.",
		run:     leavesNothing,
	},
}

const (
	caseLimit = 2 * time.Minute
	ttl       = 3 * time.Second         // the TTL of a lease that ends because its program is cut off
	steady    = 10 * time.Minute        // the TTL of a lease that must not expire while a case runs
	slowTTL   = 2500 * time.Millisecond // the TTL of a lease on a slow connection
	slow      = slowTTL * 7 / 50        // how long a reply takes; longer than a margin of a tenth of the TTL, and shorter than half the limit of a request
	pollEvery = 5 * time.Millisecond

	mostRequests = 4 // how many requests a program may send to acquire a lock
)

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// trial is one run of a case.
type trial struct {
	harness *Harness
	opened  []driver.Backend
}

// open starts a program, and lets it send one request, so that it has a connection to the store.
func (t *trial) open(ctx context.Context) (*client, error) {
	b, err := t.harness.Open(ctx)
	if err != nil {
		return nil, err
	}
	t.opened = append(t.opened, b)
	c, err := t.harness.client(b)
	if err != nil {
		return nil, err
	}
	return c, t.isFree(ctx, c, fresh())
}

// pair starts two programs.
func (t *trial) pair(ctx context.Context) (a, b *client, err error) {
	if a, err = t.open(ctx); err == nil {
		b, err = t.open(ctx)
	}
	return a, b, err
}

// fresh returns a name that no other trial uses.
func fresh() string { return "locktest/stdio/" + driver.NewNonce().String() }

// ask sends one request for name. It returns the grant, or why the name is held.
func ask(ctx context.Context, c *client, name string) (driver.Grant, *driver.Held, error) {
	r := driver.Request{Key: driver.Key{Name: name}, Nonce: driver.NewNonce(), TTL: steady, Holder: "locktest"}
	g, err := c.Acquire(ctx, r)
	var held *driver.Held
	if errors.As(err, &held) {
		return g, held, nil
	}
	return g, nil, err
}

// grantAtLast sends requests until the name is granted.
func grantAtLast(ctx context.Context, c *client, name string) (driver.Grant, error) {
	patience := stdiotimes.Of(ctx).Patience
	end := time.Now().Add(patience)
	for {
		g, held, err := ask(ctx, c, name)
		if err != nil || held == nil {
			return g, err
		}
		if time.Now().After(end) {
			return g, fmt.Errorf("the name did not become free within %s: %w", patience, held)
		}
		time.Sleep(pollEvery)
	}
}

// isFree checks that the name becomes free soon.
func (t *trial) isFree(ctx context.Context, c *client, name string) error {
	g, err := grantAtLast(ctx, c, name)
	if err != nil {
		return err
	}
	return c.Release(ctx, g)
}

func keepsItsLease(ctx context.Context, t *trial) error {
	a, b, err := t.pair(ctx)
	if err != nil {
		return err
	}
	name, keptTTL := fresh(), stdiotimes.Of(ctx).KeptTTL
	lease, _, err := a.lock(ctx, name, keptTTL, stdiotimes.Of(ctx).Patience)
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	for end := time.Now().Add(keptTTL * 5 / 4); time.Now().Before(end); time.Sleep(ttl / 50) {
		g, held, err := ask(ctx, b, name)
		switch {
		case err != nil:
			return err
		case held == nil:
			return fmt.Errorf("another client was granted token %d", g.Token)
		}
		left, err := a.trust(ctx, lease)
		if err == nil && left <= 0 {
			err = fmt.Errorf("the program lost a lease of %s that nothing disturbed", keptTTL)
		}
		if err != nil {
			return err
		}
	}
	if err := a.unlock(ctx, lease); err != nil {
		return fmt.Errorf("unlock: %w", err)
	}
	_, held, err := ask(ctx, b, name)
	if held != nil {
		err = fmt.Errorf("after unlock, the name is not free: %w", held)
	}
	return err
}

// countsFromBefore compares the trust of the program with the expiry in the store, first after a grant whose reply was
// slow, and then after renewals whose replies are slow.
func countsFromBefore(ctx context.Context, t *trial) error {
	a, b, err := t.pair(ctx)
	if err != nil {
		return err
	}
	a.network().DelayReplies(slow)
	name, patience := fresh(), stdiotimes.Of(ctx).Patience
	lease, _, err := a.lock(ctx, name, slowTTL, patience)
	for end := time.Now().Add(patience); err != nil && time.Now().Before(end); time.Sleep(pollEvery) { // on a slow machine, a request may reach its limit
		name = fresh()
		lease, _, err = a.lock(ctx, name, slowTTL, patience)
	}
	if err != nil {
		return fmt.Errorf("lock, with replies that take %s: %w", slow, err)
	}
	left, err := compare(ctx, a, b, lease, name)
	if err == nil && left <= 0 {
		err = fmt.Errorf("the program does not trust a lease of %s whose grant took %s", slowTTL, slow)
	}
	if err != nil {
		return err
	}
	a.network().DelayReplies(0)
	if lease, _, err = a.lock(ctx, name+"/renewed", slowTTL, patience); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	a.network().DelayReplies(slow)
	for end := time.Now().Add(slowTTL * 5 / 4); left > 0 && time.Now().Before(end); time.Sleep(ttl / 50) {
		if left, err = compare(ctx, a, b, lease, name+"/renewed"); err != nil {
			return err
		}
	}
	return nil // a slow connection may end a lease too early, but never too late
}

// compare returns for how long a trusts its lease. It returns an error if that is longer than the store keeps others
// out, which it learns through b.
func compare(ctx context.Context, a, b *client, lease, name string) (time.Duration, error) {
	before := time.Now()
	left, err := a.trust(ctx, lease)
	if err != nil || left <= 0 {
		return left, err
	}
	_, held, err := ask(ctx, b, name)
	switch now := time.Now(); {
	case err != nil:
		return left, err
	case held == nil && before.Add(left).After(now):
		return left, fmt.Errorf("another client was granted the name while the program trusted its lease for another %s", before.Add(left).Sub(now))
	case held != nil && before.Add(left).After(now.Add(held.ExpiresIn)):
		return left, fmt.Errorf("the program trusts its lease for %s, but the store grants the name to others in %s", left, held.ExpiresIn)
	}
	return left, nil
}

func stopsFirst(ctx context.Context, t *trial) error {
	a, b, err := t.pair(ctx)
	if err != nil {
		return err
	}
	name := fresh()
	lease, _, err := a.lock(ctx, name, ttl, stdiotimes.Of(ctx).Patience)
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	a.network().Cut()
	next, err := grantAtLast(ctx, b, name)
	if err != nil {
		return err
	}
	for range 2 {
		left, err := a.trust(ctx, lease)
		if err != nil {
			return err
		}
		if left > 0 {
			return fmt.Errorf("another client was granted token %d while the program trusts its lease for another %s", next.Token, left)
		}
		a.network().Restore()
	}
	if err := a.unlock(ctx, lease); !errors.Is(err, errLost) {
		return fmt.Errorf("unlock of a lost lease: want lost, got %v", err) //nolint:errorlint // err may be nil
	}
	got, err := b.Renew(ctx, []driver.Grant{next})
	if err == nil && !slices.Equal(got, []driver.Outcome{driver.Renewed}) {
		err = fmt.Errorf("the renewal of the next holder has the outcomes %v", got)
	}
	return err
}

// repeatsWithItsNonce loses each reply once: first the first reply to a program that acquires a lock, then the second
// reply to another program, until a program acquires a lock without a loss. So a request that grants is among them,
// however many requests the program sends. The first loss is silent, so that the program needs a limit of its own.
func repeatsWithItsNonce(ctx context.Context, t *trial) error {
	b, err := t.open(ctx)
	then := faultproxy.Hang
	for k, lost := 1, true; err == nil && lost; k++ {
		if lost, err = repeats(ctx, t, b, k, then); err != nil && lost {
			err = fmt.Errorf("reply %d to the program was lost: %w", k, err)
		}
		then = faultproxy.Reset
	}
	return err
}

// repeats runs the case with the loss of reply k. It reports whether there was such a reply.
func repeats(ctx context.Context, t *trial, b *client, k int, then faultproxy.AfterDrop) (lost bool, err error) {
	a, err := t.open(ctx)
	if err != nil {
		return false, err
	}
	name := fresh()
	a.network().DropReply(k, then)
	lease, token, err := a.lock(ctx, name, stdiotimes.Of(ctx).GivenUpTTL, stdiotimes.Of(ctx).Patience/2) // a client that draws another nonce waits for its own lease, until its time is over
	lost = a.proxy.Drops() == 0
	a.network().DropReplies(0, then)
	if err != nil {
		return lost, fmt.Errorf("lock: %w", err)
	}
	_, held, err := ask(ctx, b, name)
	switch {
	case err != nil:
		return lost, err
	case held == nil:
		return lost, errors.New("the name was granted to another client")
	case held.Token.String() != token && held.Token != 0:
		return lost, fmt.Errorf("the program has token %s, but the store says %d", token, held.Token)
	}
	if err := a.unlock(ctx, lease); err != nil {
		return lost, fmt.Errorf("unlock: %w", err)
	}
	return lost, t.isFree(ctx, b, name)
}

// leavesNothing loses the reply to the request that acquires the lock. Some programs send other requests before it, so
// leavesNothing cuts the connection after one request, and then, of another program, after one more.
func leavesNothing(ctx context.Context, t *trial) error {
	b, err := t.open(ctx)
	for requests := 1; err == nil && requests <= mostRequests; requests++ {
		a, err := t.open(ctx)
		if err != nil {
			return err
		}
		name := fresh()
		a.network().CutAfter(requests)
		_, _, err = a.lock(ctx, name, stdiotimes.Of(ctx).GivenUpTTL, 0)
		switch held := new(driver.Held); {
		case err == nil:
			return errors.New("lock succeeded without a reply from the store")
		case errors.Is(err, errNoReply): // after Restore the program could still acquire the lock, and would rightly keep it
			return fmt.Errorf("the program does not give up: %w", err)
		case errors.As(err, &held):
			return fmt.Errorf("a missing reply is reported as a refusal: %w", err)
		}
		_, held, err := ask(ctx, b, name)
		if err != nil {
			return err
		}
		if held != nil {
			a.network().Restore()
			return t.isFree(ctx, b, name)
		}
	}
	if err == nil {
		err = errors.New("no request that acquires the lock reached the store before the cut, so the case checks nothing")
	}
	return err
}
