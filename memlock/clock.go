package memlock

import "time"

// Advance moves the store's clock forward by d, or back if d is negative, as if somebody set a server's clock.
// The clocks of the holders do not change.
func (b *Backend) Advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ahead += d
}

// now returns the store's time. The caller must hold mu.
func (b *Backend) now() time.Time { return time.Now().Add(b.ahead) }
