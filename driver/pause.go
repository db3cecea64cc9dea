package driver

import "time"

// Endless is the expiry stored for a pause in stores that require an expiry. It is a century from the start of the pause, which
// fits every store's clock and a [time.Duration]. A program that does not know pauses sees a lease that is renewed.
const Endless = 100 * 365 * 24 * time.Hour

// endless reports whether a lease that lasts this long is a pause. The engine requests leases of at most a week.
func endless(left time.Duration) bool { return left > Endless/2 }

// KnowPause changes h to the refusal of a pause if its lease is endless, and returns h.
func (h *Held) KnowPause() *Held {
	if h.Reason == Leased && endless(h.ExpiresIn) {
		h.Reason, h.ExpiresIn = Paused, 0
	}
	return h
}

// KnowPause changes s to the state of a pause if its lease is endless.
func (s *Status) KnowPause() {
	if s.State == StateHeld && endless(s.ExpiresIn) {
		s.State, s.ExpiresIn, s.FreeIn = StatePaused, 0, 0
	}
}
