package driver

import (
	"context"
	"time"
)

// Pauser is implemented by a backend that can keep a key closed for as long as nobody opens it, and says so
// in [Capabilities].Pauses.
type Pauser interface {
	// Pause makes a pause of the grant g, which keeps its token, holder and note: it does not expire, needs no
	// renewal, outlives every connection and restart, and is refused to others with the reason [Paused] until
	// [Inspector.ForceRelease] ends it, with live. From then on the nonce of g is nobody's: Renew finds it
	// lost, and Release does not find it. A HandoverDelay and MinHold of g end with it.
	//
	// as is the nonce of the pause: the same request sent again changes nothing. ErrNotHeld means that the
	// store does not hold g any more; it never revives what has expired. Any other error but one made by
	// [NotApplied] or [Permanent] means that the outcome is unknown. It waits for nobody.
	Pause(ctx context.Context, g Grant, as Nonce) error
}

// Endless is when a pause ends in a store in which everything does, from its beginning on: never, as far as
// people are concerned, and soon enough for every store's clock and for a [time.Duration]. Who knows nothing
// of pauses takes one for a lease that somebody keeps alive.
const Endless = 100 * 365 * 24 * time.Hour

// endless says whether a lease that lasts for so long is a pause. The engine asks for leases of days.
func endless(left time.Duration) bool { return left > Endless/2 }

// KnowPause makes h the refusal of a pause if it is that of a lease which does not end.
func (h *Held) KnowPause() *Held {
	if h.Reason == Leased && endless(h.ExpiresIn) {
		h.Reason, h.ExpiresIn = Paused, 0
	}
	return h
}

// KnowPause makes s the state of a pause if it is that of a lease which does not end.
func (s *Status) KnowPause() {
	if s.State == StateHeld && endless(s.ExpiresIn) {
		s.State, s.ExpiresIn, s.FreeIn = StatePaused, 0, 0
	}
}
