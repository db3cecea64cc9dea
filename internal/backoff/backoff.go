// Package backoff has the delays between retries.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff is a growing delay. Each step is randomly between half and one and a half of its length, so that
// processes that failed together do not retry together.
type Backoff struct{ Next, Most time.Duration }

// Step returns the next delay.
func (b *Backoff) Step() time.Duration {
	d := b.Next
	b.Next = min(b.Next*8/5, b.Most)
	return Jitter(d)
}

// Jitter returns a random delay between half and one and a half of d.
func Jitter(d time.Duration) time.Duration { return d/2 + rand.N(d+1) }

// Sleep waits for d, and reports false if ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
