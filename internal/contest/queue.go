package contest

import (
	"context"
	"errors"
	"testing"

	"github.com/rowlock/rowlock/driver"
)

// Wait calls q.Await, which waits in the store's queue until ctx ends. If Await is refused,
// Wait returns the first refusal, which names the holder.
func Wait(ctx context.Context, q driver.Awaiter, r driver.Request) (driver.Grant, error) {
	var told, held *driver.Held
	g, err := q.Await(ctx, r, func(held *driver.Held) context.Context {
		told = held
		return ctx
	})
	if errors.As(err, &held) && told != nil {
		return g, told
	}
	return g, err
}

// Queue calls [Wait] in a goroutine. The result arrives on one of the two channels: the grant on got,
// or the error on failed.
func Queue(ctx context.Context, q driver.Awaiter, r driver.Request) (got chan driver.Grant, failed chan error) {
	got, failed = make(chan driver.Grant, 1), make(chan error, 1)
	go func() {
		g, err := Wait(ctx, q, r)
		if err != nil {
			failed <- err
			return
		}
		got <- g
	}()
	return got, failed
}

// Granted waits for the result of [Queue] and returns the grant. It fails the test if the result is an error.
func Granted(tb testing.TB, got chan driver.Grant, failed chan error) driver.Grant {
	tb.Helper()
	select {
	case g := <-got:
		return g
	case err := <-failed:
		tb.Fatal(err)
		return driver.Grant{}
	}
}
