package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// request returns a request for key with a fresh nonce.
func (t *trial) request(key driver.Key) driver.Request {
	return driver.Request{Key: key, Nonce: driver.NewNonce(), TTL: steady, Holder: "locktest", Note: t.name}
}

// ask sends one request. If the store reports contention with another writer, the method retries a limited number of
// times. It also retries a request that failed after half of the TTL or later, because a backend on an overloaded
// machine may report that a grant came too late.
func (t *trial) ask(b driver.Backend, r driver.Request) (g driver.Grant, held *driver.Held) {
	late := 0
	t.poll("a reply other than contended", func() bool {
		var err error
		held = nil
		sent := time.Now()
		g, err = b.Acquire(t.ctx, r)
		if err != nil && !errors.As(err, &held) {
			if late++; time.Since(sent) > r.TTL/2 && late < 10 {
				return false
			}
			t.fatalf("acquire %q: want a grant or a *driver.Held, got error: %v", r.Key, err)
		}
		return held == nil || held.Reason != driver.Contended
	})
	if held == nil {
		t.checkGrant(b, r, g)
	}
	return g, held
}

func (t *trial) checkGrant(b driver.Backend, r driver.Request, g driver.Grant) {
	switch {
	case g.Token < 0, g.Token == 0 && ordered(b) && !r.Shared: // token zero is valid if the backend has no tokens
		t.fatalf("granted token %d; tokens are larger than zero", g.Token)
	case g.Key != r.Key || g.Nonce != r.Nonce || g.Shared != r.Shared:
		t.fatalf("requested %q with nonce %s, shared %t; granted %q with nonce %s, shared %t", r.Key, r.Nonce, r.Shared, g.Key, g.Nonce, g.Shared)
	case g.TTL <= 0 || g.MinHold != r.MinHold || g.HandoverDelay != r.HandoverDelay:
		t.fatalf("requested TTL %s, minimum hold %s, hand-over delay %s; the grant says %s, %s, %s",
			r.TTL, r.MinHold, r.HandoverDelay, g.TTL, g.MinHold, g.HandoverDelay)
	}
}

// grant sends a request that must be granted.
func (t *trial) grant(b driver.Backend, r driver.Request) driver.Grant {
	g, held := t.ask(b, r)
	if held != nil {
		t.fatalf("acquire %q, which is free: refused: %v", r.Key, held)
	}
	return g
}

// refuse sends a request that must be refused.
func (t *trial) refuse(b driver.Backend, r driver.Request) *driver.Held {
	g, held := t.ask(b, r)
	if held == nil {
		t.fatalf("acquire %q, which another client holds: granted token %d", r.Key, g.Token)
	}
	return held
}

// grantAtLast retries until the request is granted.
func (t *trial) grantAtLast(b driver.Backend, r driver.Request) driver.Grant {
	var g driver.Grant
	t.poll("a grant after the key became free", func() bool {
		var held *driver.Held
		g, held = t.ask(b, r)
		r.Waiting = true
		return held == nil
	})
	return g
}

// isHeld checks that the store holds g, by renewing g. Only the expiry of g changes.
func (t *trial) isHeld(b driver.Backend, g driver.Grant) {
	if got := t.renew(b, g); got != driver.Renewed {
		t.fatalf("renewal of token %d, which is held: want renewed, got %s", g.Token, got)
	}
}

func (t *trial) renew(b driver.Backend, g driver.Grant) driver.Outcome {
	return t.renewAll(b, g)[0]
}

func (t *trial) renewAll(b driver.Backend, grants ...driver.Grant) []driver.Outcome {
	outcomes, err := b.Renew(t.ctx, grants)
	if err != nil {
		t.fatalf("renew %d grants: %v", len(grants), err)
	}
	if len(outcomes) != len(grants) {
		t.fatalf("renew %d grants: %d outcomes", len(grants), len(outcomes))
	}
	return outcomes
}

func (t *trial) release(b driver.Backend, g driver.Grant) {
	if err := b.Release(t.ctx, g); err != nil {
		t.fatalf("release token %d: %v", g.Token, err)
	}
}

// releaseNot sends a release that must have no effect.
func (t *trial) releaseNot(b driver.Backend, g driver.Grant) {
	if err := b.Release(t.ctx, g); !errors.Is(err, driver.ErrNotHeld) {
		t.fatalf("release of a grant that is not held (token %d): want driver.ErrNotHeld, got %v", g.Token, err)
	}
}

// expired acquires r through b, waits until the lease has expired without a release, and returns the expired grant.
func (t *trial) expired(b driver.Backend, r driver.Request) driver.Grant {
	if e, ok := t.harness.(Expirer); ok {
		g := t.grant(b, r)
		t.expire(e, r.Key)
		return g
	}
	// Without an Expirer, expired waits until a second lease has expired. The store grants that lease later, with the
	// same TTL. So when the second lease has expired, the first lease has also expired.
	r.TTL = brief
	g := t.grant(b, r)
	sentinel := t.request(t.key("sentinel/" + r.Nonce.String()))
	sentinel.TTL = brief
	t.grant(b, sentinel)
	sentinel.Nonce = driver.NewNonce()
	t.grantAtLast(b, sentinel)
	return g
}

func (t *trial) expire(e Expirer, key driver.Key) {
	if err := e.Expire(t.ctx, key); err != nil {
		t.fatalf("expire %q: %v", key, err)
	}
}

// timed returns how long f took.
func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// withTimeout returns a context that ends after d, or when the trial ends.
func (t *trial) withTimeout(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.ctx, d)
}
