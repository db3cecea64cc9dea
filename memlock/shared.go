package memlock

import (
	"time"

	"github.com/rowlock/rowlock/driver"
)

// share grants a share of l. The first reader gets a new token. A later reader gets the same token if earlier readers
// still hold the lock.
func (b *Backend) share(l *row, r driver.Request, now time.Time) (driver.Grant, error) {
	_, again := l.readers[r.Nonce]
	held, reservedUntil := now.Before(l.heldUntil), l.reservedUntil()
	switch {
	case again && held: // the share may have expired, but no writer has acquired the lock since
	case held && len(l.readers) == 0:
		return driver.Grant{}, l.refusal(now)
	case now.Before(reservedUntil):
		h := l.refusal(now)
		h.Reason, h.ExpiresIn = driver.Reserved, reservedUntil.Sub(now)
		return driver.Grant{}, h
	case !held:
		b.begin(l, r, now)
		l.nonce, l.readers, l.writers = driver.EpochNonce(l.token), make(map[driver.Nonce]time.Time), make(map[driver.Nonce]time.Time)
	}
	g := driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: l.token, TTL: r.TTL, Shared: true, Done: l.done}
	l.holder, l.note = r.Holder, r.Note
	l.extendShare(g, now)
	return g, nil
}

// releaseShare ends the share g. The last release frees the lock.
func (b *Backend) releaseShare(l *row, g driver.Grant, now time.Time) error {
	if l == nil || !l.sharedBy(g) {
		if l != nil && l.token == g.Token {
			return nil // the share has ended, and no holder with another token has acquired the lock since
		}
		return driver.ErrNotHeld
	}
	delete(l.readers, g.Nonce)
	l.lastExpiry(now)
	if len(l.readers) == 0 {
		l.nonce, l.heldUntil = driver.Nonce{}, time.Time{}
		l.expires = now
		b.wake(g.Key)
	}
	return nil
}

// sharedBy reports whether g is a share of l. If g.Token is zero, only the nonce is compared.
func (l *row) sharedBy(g driver.Grant) bool {
	if l == nil || g.Token != 0 && l.token != g.Token {
		return false
	}
	_, known := l.readers[g.Nonce]
	return known
}

// extendShare starts the TTL of the share g again.
func (l *row) extendShare(g driver.Grant, now time.Time) {
	l.readers[g.Nonce] = now.Add(g.TTL)
	l.lastExpiry(now)
}

// lastExpiry drops the shares that have expired. It sets the lock's expiry to the latest expiry of the other shares.
func (l *row) lastExpiry(now time.Time) {
	var last time.Time
	for nonce, expires := range l.readers {
		if !now.Before(expires) {
			delete(l.readers, nonce)
		}
		last = later(last, expires)
	}
	l.expires, l.heldUntil = last, last
}

// live returns the number of shares that have not expired.
func (l *row) live(now time.Time) (n int) {
	for _, expires := range l.readers {
		if now.Before(expires) {
			n++
		}
	}
	return n
}

// reservedUntil returns the time until which a waiting writer keeps out further readers.
func (l *row) reservedUntil() (until time.Time) {
	for _, end := range l.writers {
		until = later(until, end)
	}
	return until
}

// forgetWriter ends the reservation of the request with g's nonce. If no reservation is left, waiting readers are
// notified.
func (b *Backend) forgetWriter(l *row, g driver.Grant, now time.Time) {
	if _, reserved := l.writers[g.Nonce]; !reserved {
		return
	}
	delete(l.writers, g.Nonce)
	if !now.Before(l.reservedUntil()) {
		b.wake(g.Key)
	}
}
