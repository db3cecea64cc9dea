package sqlbase

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
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
		d := backoff.Jitter(step)
		if time.Now().Add(d).After(end) || !backoff.Sleep(ctx, d) {
			return driver.NotApplied(err)
		}
	}
}

// HalfOf returns a context that ends after half of ctx's time.
func HalfOf(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithTimeout(ctx, time.Until(deadline)/2)
	}
	return context.WithCancel(ctx)
}
