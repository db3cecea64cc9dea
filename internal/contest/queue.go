package contest

import (
	"context"
	"testing"

	"github.com/rowlock/rowlock/driver"
)

// Queue starts AcquireQueued, and returns where one of the two, the grant or the error, will be found.
func Queue(ctx context.Context, q driver.Queuer, r driver.Request) (got chan driver.Grant, failed chan error) {
	got, failed = make(chan driver.Grant, 1), make(chan error, 1)
	go func() {
		g, err := q.AcquireQueued(ctx, r)
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
