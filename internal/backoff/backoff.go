// Package backoff has the pauses before something is tried again.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff is a growing pause. Each step is between half and one and a half of its length, so that
// those who were refused together do not come back together.
type Backoff struct{ Next, Most time.Duration }

// Step is the next pause.
func (b *Backoff) Step() time.Duration {
	d := b.Next
	b.Next = min(b.Next*8/5, b.Most)
	return Jitter(d)
}

// Jitter is between half and one and a half of d, so that those who collided once do not collide again.
func Jitter(d time.Duration) time.Duration { return d/2 + rand.N(d+1) }

// Sleep pauses for d, and says whether ctx outlived it.
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
