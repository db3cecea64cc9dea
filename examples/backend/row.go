//go:build unix && !aix && !solaris

package main

import (
	"time"

	"github.com/rowlock/rowlock/driver"
)

// row is the data that the store keeps for one key. It is never deleted, because the next token must be larger than
// Token.
type row struct {
	Key      driver.Key // for people
	Nonce    driver.Nonce
	Token    driver.Token
	Holder   string
	Note     string
	Granted  time.Time
	Expires  time.Time // when the lease ends unless it is renewed
	Free     time.Time // from when the key can be granted again
	Released bool
}

// heldBy reports whether the current grant has this nonce and token. A zero token matches any token.
func (l *row) heldBy(nonce driver.Nonce, token driver.Token) bool {
	return !l.Released && l.Nonce == nonce && (token == 0 || l.Token == token)
}

// grant replaces the current grant by a new grant for r. The new token is at least the clock's time in microseconds.
// So tokens rise even if the row was deleted.
func (l *row) grant(r driver.Request, now time.Time) {
	token := max(l.Token+1, driver.Token(now.UnixMicro()))
	*l = row{Key: r.Key, Nonce: r.Nonce, Token: token, Holder: r.Holder, Note: r.Note, Granted: now}
}

// extend sets the grant's expiry and the time when the name becomes free, both counted from the parameter now.
func (l *row) extend(g driver.Grant, now time.Time) {
	l.Expires = now.Add(g.TTL)
	l.Free = l.Expires.Add(g.HandoverDelay)
	if until := l.Granted.Add(g.MinHold); until.After(l.Free) {
		l.Free = until
	}
}

// refusal says why the key cannot be granted now.
func (l *row) refusal(now time.Time) *driver.Held {
	h := &driver.Held{
		Reason: driver.Leased, Holder: l.Holder, Note: l.Note, Token: l.Token,
		Since: now.Sub(l.Granted), ExpiresIn: l.Free.Sub(now),
	}
	switch {
	case l.Released:
		h.Reason = driver.MinHold
	case !now.Before(l.Expires):
		h.Reason = driver.Handover
	}
	return h
}
