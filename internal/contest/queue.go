package contest

import (
	"context"
	"errors"
	"testing"

	"github.com/rowlock/rowlock/driver"
)

// Wait has q wait for r in the store's queue for as long as ctx lasts. A refusal is the one that says who was in the way.
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

// Queue starts [Wait], and returns where one of the two, the grant or the error, will be found.
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

// Granted is the grant that Queue has waited for.
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
