package sqlbase

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
)

// These constants bound the retries of a statement that had no effect. The causes are serialization failures,
// deadlocks, lock time-outs and busy files.
const (
	firstPause = time.Millisecond
	longPause  = 10 * time.Millisecond
	// LongRetry bounds the retries of a call whose ctx has no earlier deadline.
	LongRetry = 10 * time.Second
)

// Retry calls the given function until it succeeds or returns an error that must not be retried. The function retryable
// returns true for an error to retry. Such an error means that the call had no effect. The delay between two calls is
// random. Retry stops shortly before ctx's deadline, and after [LongRetry] at the latest. It then returns the last
// error, marked [driver.NotApplied].
func Retry(ctx context.Context, retryable func(error) bool, once func() error) error {
	return RetryWithin(ctx, LongRetry, retryable, once)
}

// RetryWithin is like [Retry], with limit instead of [LongRetry].
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

// HalfOf returns a context that ends when half of the time until ctx's deadline has passed.
func HalfOf(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithTimeout(ctx, time.Until(deadline)/2)
	}
	return context.WithCancel(ctx)
}
