package driver

import "time"

// Endless is the expiry stored for a pause in stores that require an expiry. Such a pause expires a century after its
// start, which fits every store's clock and a [time.Duration]. An older version of this library does not know pauses.
// It treats the pause as a lease that its holder renews.
const Endless = 100 * 365 * 24 * time.Hour

// endless reports whether a lease is a pause. The parameter left is the time until the lease expires. The engine
// requests leases of at most a week, so a lease with more than half a century left is a pause.
func endless(left time.Duration) bool { return left > Endless/2 }

// KnowPause changes the reason of h to [Paused] if h reports a lease whose expiry is that of a pause. It returns h.
func (h *Held) KnowPause() *Held {
	if h.Reason == Leased && endless(h.ExpiresIn) {
		h.Reason, h.ExpiresIn = Paused, 0
	}
	return h
}

// KnowPause changes s to [StatePaused] if s reports a lease whose expiry is that of a pause.
func (s *Status) KnowPause() {
	if s.State == StateHeld && endless(s.ExpiresIn) {
		s.State, s.ExpiresIn, s.FreeIn = StatePaused, 0, 0
	}
}
