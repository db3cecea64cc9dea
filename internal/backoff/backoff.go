// Package backoff computes the delays between retries.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff is a delay that grows by a factor of 1.6 from Next up to Most. Each delay is multiplied by a random factor
// between 0.5 and 1.5, so that processes that failed at the same time do not retry at the same time.
type Backoff struct{ Next, Most time.Duration }

// Step returns the next delay.
func (b *Backoff) Step() time.Duration {
	d := b.Next
	b.Next = min(b.Next*8/5, b.Most)
	return Jitter(d)
}

// Jitter returns a random delay between 0.5 and 1.5 times d.
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
