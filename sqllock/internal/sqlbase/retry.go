package sqlbase

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// Bounds of repeating a statement that had no effect: a serialization failure, a deadlock, a lock
// time-out, a busy file.
const (
	firstPause = time.Millisecond
	longPause  = 10 * time.Millisecond
	// LongRetry bounds a call whose ctx has no deadline.
	LongRetry = 10 * time.Second
)

// Retry runs once again and again, for as long as again says that its error left no effect, with a
// jittered pause between two tries. It gives up shortly before ctx's deadline, and after [LongRetry]
// at the latest, with the last error marked [driver.NotApplied].
func Retry(ctx context.Context, again func(error) bool, once func() error) error {
	return RetryWithin(ctx, LongRetry, again, once)
}

// RetryWithin is [Retry] with another limit than [LongRetry].
func RetryWithin(ctx context.Context, limit time.Duration, again func(error) bool, once func() error) error {
	end := time.Now().Add(limit)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		end = deadline
	}
	for step := firstPause; ; step = min(2*step, longPause) {
		err := once()
		if err == nil || !again(err) {
			return err
		}
		d := jitter(step)
		if time.Now().Add(d).After(end) || pause(ctx, d) != nil {
			return driver.NotApplied(err)
		}
	}
}

// jitter spreads d over half to one and a half of it, so that those who collided once do not
// collide again.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// pause waits for d, or until ctx ends and then returns its error.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// HalfOf returns a context that ends after half of ctx's time.
func HalfOf(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithTimeout(ctx, time.Until(deadline)/2)
	}
	return context.WithCancel(ctx)
}
