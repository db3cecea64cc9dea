package memlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/memlock"
)

// A test of a program can end a lease with Lose, to see whether the work stops.
func ExampleBackend_Lose() {
	store := memlock.New()
	locker, err := rowlock.New(store, rowlock.TTL(time.Minute), rowlock.RenewEvery(10*time.Millisecond))
	if err != nil {
		panic(err)
	}
	defer locker.Close()
	err = locker.Do(context.Background(), "nightly", func(ctx context.Context, _ *rowlock.Lease) error {
		store.Lose("nightly")
		<-ctx.Done() // ends at the next renewal, which finds that the lease was lost
		return ctx.Err()
	})
	fmt.Println("lost:", errors.Is(err, rowlock.ErrLost))
	// Output: lost: true
}

// Two lockers on one store behave like two processes.
func Example() {
	store := memlock.New()
	one, _ := rowlock.New(store, rowlock.Holder("one"))
	defer one.Close()
	other, _ := rowlock.New(store, rowlock.Holder("other"))
	defer other.Close()
	ctx := context.Background()
	if _, err := one.Acquire(ctx, "nightly"); err != nil {
		panic(err)
	}
	_, err := other.TryAcquire(ctx, "nightly")
	var held *rowlock.HeldError
	fmt.Println(errors.As(err, &held), held.Holder)
	// Output: true one
}
