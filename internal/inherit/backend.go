package inherit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// Backend is a [driver.Backend] whose store is the parent. It grants only the parent's lease, to a request with the
// parent's nonce. Release ends the connection to the parent, and never the parent's lease.
type Backend struct {
	lease Lease

	mu   sync.Mutex
	conn *connection // nil before the first request
}

var _ driver.Backend = (*Backend)(nil)

// NewBackend returns a backend for l. It does no I/O.
func NewBackend(l Lease) *Backend { return &Backend{lease: l} }

// Capabilities returns the kind of the parent's store as the name of the backend, so that a fence accepts the child's
// lease as the parent's.
func (b *Backend) Capabilities() driver.Capabilities {
	c := driver.Capabilities{Backend: b.lease.Domain, Token: driver.BestEffortToken, Sessions: true, Shares: true}
	if b.lease.Token == 0 {
		c.Token = driver.NoToken
	}
	return c
}

var errOther = errors.New("this process has inherited another lease")

// Acquire connects to the parent if there is no connection yet, and asks for a renewal.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if r.Key != b.lease.Key || r.Nonce != b.lease.Nonce || r.Shared != b.lease.Shared {
		return driver.Grant{}, driver.Permanent(errOther)
	}
	conn, err := b.connect(ctx)
	if err != nil {
		return driver.Grant{}, failed(err)
	}
	trust, err := conn.ask(ctx, b.lease.Nonce.String())
	if err != nil {
		return driver.Grant{}, failed(err)
	}
	return driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: b.lease.Token, Shared: r.Shared, TTL: min(r.TTL, trust), Session: conn.over}, nil
}

// failed classifies the error of an acquire. Such a request has no effect, because it only renews the parent's lease.
func failed(err error) error {
	if errors.Is(err, ErrGone) {
		return driver.Permanent(err)
	}
	return driver.NotApplied(err)
}

// Renew asks the parent for a renewal. If the parent trusts its lease for less than the TTL of the grant, the outcome
// is unknown. So the child's lease ends with the deadline of its last renewal, and before the parent's lease. That
// happens at the end of a maximum hold.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	outcomes := make([]driver.Outcome, len(grants))
	var failure error
	for i, g := range grants {
		if outcomes[i], failure = b.renew(ctx, g); failure != nil && len(grants) == 1 {
			return nil, failure
		}
	}
	return outcomes, nil
}

func (b *Backend) renew(ctx context.Context, g driver.Grant) (driver.Outcome, error) {
	conn := b.connectionOf(g)
	if conn == nil {
		return driver.Lost, nil
	}
	trust, err := conn.ask(ctx, b.lease.Nonce.String())
	switch {
	case errors.Is(err, ErrGone):
		return driver.Lost, nil
	case err != nil:
		return driver.Unknown, err
	case trust < g.TTL:
		return driver.Unknown, fmt.Errorf("%w trusts it for only %s more", ErrParent, trust.Round(time.Millisecond))
	default:
		return driver.Renewed, nil
	}
}

// Release ends the connection to the parent.
func (b *Backend) Release(_ context.Context, g driver.Grant) error {
	if g.Token == 0 {
		g.Token = b.lease.Token
	}
	conn := b.connectionOf(g)
	if conn == nil || conn.over.Err() != nil {
		return driver.ErrNotHeld
	}
	conn.end(driver.ErrNotHeld)
	_ = conn.Close()
	return nil
}

func (b *Backend) connect(ctx context.Context) (*connection, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conn != nil {
		return b.conn, nil
	}
	conn, err := dial(ctx, b.lease.Keeper)
	if err == nil {
		b.conn = conn
	}
	return conn, err
}

// connectionOf returns the connection, or nil if there is none or g is not the parent's lease.
func (b *Backend) connectionOf(g driver.Grant) *connection {
	b.mu.Lock()
	defer b.mu.Unlock()
	if g.Key != b.lease.Key || g.Nonce != b.lease.Nonce || g.Token != b.lease.Token {
		return nil
	}
	return b.conn
}
