package rowlock

import (
	"context"
	"math/rand/v2"
	"time"
)

// callTimeout bounds one request to the store: long enough for a connection to be made, short
// enough for several tries within a TTL of usual length.
func callTimeout(ttl time.Duration) time.Duration {
	return min(max(ttl/6, time.Second), 5*time.Second)
}

// outageLimit is how long a waiter goes on asking a store that says nothing: a TTL, but long enough
// for a second try and at most a minute.
func outageLimit(ttl time.Duration) time.Duration {
	return min(max(ttl, 2*callTimeout(ttl)), time.Minute)
}

// backoff is a growing pause. Each step is between half and one and a half of its length, so that
// those who were refused together do not come back together.
type backoff struct{ next, most time.Duration }

func (b *backoff) step() time.Duration {
	d := b.next
	b.next = min(b.next*8/5, b.most)
	return jitter(d)
}

func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d+1) }

// sleep pauses for d, and says whether ctx outlived it.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
