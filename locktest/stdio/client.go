package stdio

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
)

// client is a backend that sends every call to a program.
type client struct {
	program *program
	proxy   *faultproxy.Proxy // between the program and the store
	caps    driver.Capabilities
	leases  bool // true if the program has the operations lock, trust and unlock
	operate bool // true if the program has the operations of an operator

	touched atomic.Bool // true if the program may still be affected by what a case did to it
}

var _ driver.Backend = (*client)(nil)

var qualities = map[string]driver.TokenQuality{
	"none": driver.NoToken, "best effort": driver.BestEffortToken, "linearizable": driver.LinearizableToken,
}

// introduce asks the program for its capabilities.
func (c *client) introduce(ctx context.Context) error {
	r, err := c.program.call(ctx, request{Op: "capabilities"})
	if err != nil {
		return err
	}
	quality, known := qualities[r.Tokens]
	if !known {
		return fmt.Errorf(`the program says that its tokens are %q: want "none", "best effort" or "linearizable"`, r.Tokens)
	}
	c.leases, c.operate = r.Leases, r.Operator
	c.caps = driver.Capabilities{
		Backend: r.Backend, Token: quality, Sessions: r.Sessions, Anonymous: r.Anonymous, Forgets: r.Forgets, MaxTTL: micros(r.MaxTTLUS),
		Shares: r.Shares, Ticks: r.Ticks, Pauses: r.Operator && r.Pauses,
	}
	return nil
}

// Capabilities implements [driver.Backend].
func (c *client) Capabilities() driver.Capabilities { return c.caps }

// Acquire implements [driver.Backend].
func (c *client) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	got, err := c.program.call(ctx, request{
		Op: "acquire", Holder: r.Holder, Note: r.Note, Waiting: r.Waiting, Waits: r.Waits,
		grant: grantOf(driver.Grant{Key: r.Key, Nonce: r.Nonce, TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay, Shared: r.Shared}),
	})
	if err != nil {
		return driver.Grant{}, err
	}
	token, err := got.token()
	if err != nil {
		return driver.Grant{}, err
	}
	return driver.Grant{
		Key: r.Key, Nonce: r.Nonce, Token: token, TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay,
		Shared: r.Shared, Done: got.Done,
	}, nil
}

// Renew implements [driver.Backend].
func (c *client) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	r := request{Op: "renew"}
	for _, g := range grants {
		r.Grants = append(r.Grants, grantOf(g))
	}
	got, err := c.program.call(ctx, r)
	if err != nil {
		return nil, err
	}
	result := make([]driver.Outcome, len(got.Outcomes))
	for i, word := range got.Outcomes {
		known := false
		if result[i], known = outcomes[word]; !known {
			return nil, fmt.Errorf("the program replied with the outcome %q of a renewal", word)
		}
	}
	return result, nil
}

// Release implements [driver.Backend].
func (c *client) Release(ctx context.Context, g driver.Grant) error {
	_, err := c.program.call(ctx, request{Op: "release", grant: grantOf(g)})
	return err
}

// lock acquires a lease that the program itself keeps. It returns the program's id of the lease, and its token.
func (c *client) lock(ctx context.Context, name string, ttl, wait time.Duration) (id, token string, err error) {
	c.touched.Store(true)
	r, err := c.program.call(ctx, request{Op: "lock", grant: grant{Name: name, TTLUS: ttl.Microseconds()}, WaitUS: wait.Microseconds()})
	if err != nil {
		return "", "", err
	}
	return r.Lease, r.Token, nil
}

// trust returns for how long the program still trusts its lease. It returns 0 if the program reports that the lease is
// lost.
func (c *client) trust(ctx context.Context, lease string) (time.Duration, error) {
	r, err := c.program.call(ctx, request{Op: "trust", Lease: lease})
	if errors.Is(err, errLost) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return micros(r.TrustUS), nil
}

func (c *client) unlock(ctx context.Context, lease string) error {
	_, err := c.program.call(ctx, request{Op: "unlock", Lease: lease})
	return err
}

// network returns the proxy, for a fault.
func (c *client) network() *faultproxy.Proxy {
	c.touched.Store(true)
	return c.proxy
}

// isClean reports whether another case can use the program.
func (c *client) isClean() bool { return !c.touched.Load() && c.program.isIdle() }

// kill kills the program, and closes its proxy.
func (c *client) kill() {
	c.program.kill()
	c.network().Close()
}

// close ends the program and its proxy.
func (c *client) close() error {
	c.proxy.Close()
	return c.program.close()
}

// String returns the command line for error texts.
func (c *client) String() string { return strings.Join(c.program.cmd.Args, " ") }
