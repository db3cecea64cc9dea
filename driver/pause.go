package driver

import "time"

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
