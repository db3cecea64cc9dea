package memlock

import (
	"context"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// Backend keeps locks in memory. It is safe for concurrent use.
type Backend struct {
	mu        sync.Mutex
	rows      map[driver.Key]*row
	floor     driver.Token // the largest token of all pruned locks; every new token is larger
	ahead     time.Duration
	intercept func(Call) Fault
	calls     map[Op]int
	watchers  map[driver.Key]map[*watcher]struct{}
}

// row is the state of one lock.
type row struct {
	nonce     driver.Nonce // zero after a release; driver.EpochNonce(token) while readers hold the lock
	token     driver.Token
	holder    string
	note      string
	acquired  time.Time
	expires   time.Time
	done      string    // the last recorded tick
	heldUntil time.Time // when the key can be granted again; zero if the lease was released and no minimum hold delays the next grant

	readers map[driver.Nonce]time.Time // the expiry of each share; empty while the lock is not shared
	writers map[driver.Nonce]time.Time // the writers that wait for readers: until when each of them keeps out further readers
}

var (
	_ driver.Backend  = (*Backend)(nil)
	_ driver.Notifier = (*Backend)(nil)
	_ driver.Operator = (*Backend)(nil)
)

// New returns an empty store.
func New() *Backend {
	return &Backend{
		rows:     make(map[driver.Key]*row),
		calls:    make(map[Op]int),
		watchers: make(map[driver.Key]map[*watcher]struct{}),
	}
}

// Capabilities returns the guarantees of a store that does not lose data and notifies every Locker that uses it.
func (b *Backend) Capabilities() driver.Capabilities {
	return driver.Capabilities{Backend: "memlock", Token: driver.LinearizableToken, Wakes: true, Shares: true, Pauses: true, Ticks: true}
}

// Acquire implements [driver.Backend].
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return call(ctx, b, OpAcquire, func() (driver.Grant, error) { return b.acquire(r) })
}

// Renew implements [driver.Backend].
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	return call(ctx, b, OpRenew, func() ([]driver.Outcome, error) { return b.renew(grants), nil })
}

// Release implements [driver.Backend].
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	_, err := call(ctx, b, OpRelease, func() (struct{}, error) { return struct{}{}, b.release(g) })
	return err
}

func (b *Backend) acquire(r driver.Request) (driver.Grant, error) {
	now := b.now()
	l := b.rows[r.Key]
	if l == nil {
		l = new(row)
		b.rows[r.Key] = l
	}
	if r.Shared {
		return b.share(l, r, now)
	}
	again := l.nonce == r.Nonce && l.nonce != driver.Nonce{}
	if !again && now.Before(l.heldUntil) {
		if len(l.readers) > 0 && r.Waits {
			l.writers[r.Nonce] = now.Add(driver.WriterReserve)
		}
		return driver.Grant{}, l.refusal(now)
	}
	if !again {
		b.begin(l, r, now)
		l.nonce = r.Nonce
	}
	g := driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: l.token, TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay, Done: l.done}
	l.extend(g, now)
	return g, nil
}

func (b *Backend) renew(grants []driver.Grant) []driver.Outcome {
	now := b.now()
	outcomes := make([]driver.Outcome, len(grants))
	for i, g := range grants {
		outcomes[i] = driver.Lost
		l := b.rows[g.Key]
		switch {
		case g.Shared && l.sharedBy(g) && now.Before(l.readers[g.Nonce]):
			l.extendShare(g, now)
			outcomes[i] = driver.Renewed
		case !g.Shared && l.is(g) && now.Before(l.expires):
			l.extend(g, now)
			outcomes[i] = driver.Renewed
		}
	}
	return outcomes
}

func (b *Backend) release(g driver.Grant) error {
	now := b.now()
	l := b.rows[g.Key]
	if g.Shared {
		return b.releaseShare(l, g, now)
	}
	if l != nil && l.nonce == (driver.Nonce{}) && l.token == g.Token {
		return nil // the grant is already released
	}
	if l != nil && g.Token == 0 {
		b.forgetWriter(l, g, now)
	}
	if !l.is(g) {
		return driver.ErrNotHeld
	}
	if g.Done != "" {
		l.done = g.Done
	}
	l.nonce = driver.Nonce{}
	l.expires = earlier(l.expires, now)
	l.heldUntil = time.Time{} // free now, even if the clock is set back later
	if until := earlier(l.acquired, now).Add(g.MinHold); until.After(now) {
		l.heldUntil = until
	}
	b.wake(g.Key)
	return nil
}

// begin starts a new grant of l. It raises the token, and ends earlier shares and the reservations of waiting writers.
func (b *Backend) begin(l *row, r driver.Request, now time.Time) {
	l.acquired = now
	l.token = max(l.token+1, b.floor+1, driver.Token(now.UnixMicro()))
	l.holder, l.note = r.Holder, r.Note
	l.readers, l.writers = nil, nil
}

// is reports whether g is the current grant of l. If g.Token is zero, only the nonce is compared.
func (l *row) is(g driver.Grant) bool {
	return l != nil && l.nonce == g.Nonce && (g.Token == 0 || l.token == g.Token)
}

// extend starts the TTL of g again: it sets the expiry of l and the time when l can be granted again.
func (l *row) extend(g driver.Grant, now time.Time) {
	l.expires = now.Add(g.TTL)
	l.heldUntil = later(l.expires.Add(g.HandoverDelay), earlier(l.acquired, now).Add(g.MinHold))
}

func (l *row) refusal(now time.Time) *driver.Held {
	h := &driver.Held{
		Reason: driver.Leased, Holder: l.holder, Note: l.note, Token: l.token, Readers: l.live(now),
		Since: now.Sub(l.acquired), ExpiresIn: l.heldUntil.Sub(now),
	}
	switch {
	case l.nonce == (driver.Nonce{}):
		h.Reason = driver.MinHold
	case !now.Before(l.expires):
		h.Reason = driver.Handover
	}
	return h.KnowPause()
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
