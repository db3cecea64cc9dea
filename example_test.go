package rowlock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/memlock"
)

// Only one instance of this batch job may run at a time.
func Example() {
	locker, err := rowlock.New(memlock.New()) // sqllock.Postgres(db), sqllock.MySQL(db), …
	if err != nil {
		panic(err)
	}
	defer locker.Close()

	err = locker.Do(context.Background(), "nightly-report", func(ctx context.Context, lease *rowlock.Lease) error {
		fmt.Println("working under", lease.Name())
		return ctx.Err() // ends when the lock is lost
	})
	fmt.Println("error:", err)
	// Output:
	// working under nightly-report
	// error: <nil>
}

// The error of a refused attempt names the holder.
func ExampleLocker_TryAcquire() {
	store := memlock.New()
	web1, _ := rowlock.New(store, rowlock.Holder("web-1"))
	defer web1.Close()
	web2, _ := rowlock.New(store, rowlock.Holder("web-2"))
	defer web2.Close()

	lease, err := web1.TryAcquire(context.Background(), "invoices")
	if err != nil {
		panic(err)
	}
	defer lease.Release(context.Background())

	_, err = web2.TryAcquire(context.Background(), "invoices")
	var held *rowlock.HeldError
	if errors.As(err, &held) {
		fmt.Println("held by", held.Holder)
	}
	// Output: held by web-1
}

// At most two callers work at a time, each in its own slot.
func ExampleLocker_DoAny() {
	locker, _ := rowlock.New(memlock.New())
	defer locker.Close()

	slots := rowlock.Slots("gpu", 2)
	err := locker.DoAny(context.Background(), slots, func(ctx context.Context, lease *rowlock.Lease) error {
		fmt.Println(slices.Contains(slots, lease.Name()), lease.Token() > 0)
		return ctx.Err()
	})
	fmt.Println(err)
	// Output:
	// true true
	// <nil>
}

// A transfer needs both accounts. Two transfers never deadlock, whatever the order of their names.
func ExampleLocker_DoAll() {
	locker, _ := rowlock.New(memlock.New())
	defer locker.Close()

	accounts := []string{"account/7", "account/3"}
	err := locker.DoAll(context.Background(), accounts, func(ctx context.Context, leases *rowlock.Leases) error {
		for _, lease := range leases.All() {
			fmt.Println(lease.Name(), lease.Token() > 0)
		}
		return ctx.Err()
	})
	fmt.Println(err)
	// Output:
	// account/7 true
	// account/3 true
	// <nil>
}

// The option Wait and the ctx of the call both limit how long the call waits.
func ExampleWait() {
	store := memlock.New()
	locker, _ := rowlock.New(store, rowlock.Wait(20*time.Millisecond))
	defer locker.Close()

	lease, _ := locker.Acquire(context.Background(), "invoices")
	defer lease.Release(context.Background())

	_, err := locker.Acquire(context.Background(), "invoices")
	fmt.Println(errors.Is(err, rowlock.ErrHeld))
	// Output: true
}

// A function gets the lease, and its token, from its context.
func ExampleFromContext() {
	locker, _ := rowlock.New(memlock.New())
	defer locker.Close()

	save := func(ctx context.Context) {
		lease, ok := rowlock.FromContext(ctx)
		fmt.Println(ok, lease.Name(), lease.Token() > 0)
	}
	_ = locker.Do(context.Background(), "invoices", func(ctx context.Context, _ *rowlock.Lease) error {
		save(ctx)
		return nil
	})
	// Output: true invoices true
}

// When a lease is lost, its context ends. The cause of the context says why.
func ExampleLease_Context() {
	store := memlock.New()
	locker, _ := rowlock.New(store, rowlock.TTL(60*time.Millisecond))
	defer locker.Close()

	lease, _ := locker.Acquire(context.Background(), "invoices")
	store.Lose("invoices") // stands for a forced release, a failover, or a long suspension
	<-lease.Context().Done()
	fmt.Println(errors.Is(context.Cause(lease.Context()), rowlock.ErrLost))
	fmt.Println(errors.Is(lease.Release(context.Background()), rowlock.ErrLost))
	// Output:
	// true
	// true
}

// One of many processes leads and works while it holds the name. When the leader fails, another process takes over.
func ExampleLead() {
	locker, _ := rowlock.New(memlock.New())
	defer locker.Close()

	ctx, shutdown := context.WithCancel(context.Background())
	err := rowlock.Lead(ctx, locker, "scheduler", func(ctx context.Context, lease *rowlock.Lease) error {
		fmt.Println("leading", lease.Name())
		shutdown()   // for this example
		<-ctx.Done() // work until the process stops or another process leads
		return nil
	})
	fmt.Println("error:", err)
	// Output:
	// leading scheduler
	// error: <nil>
}
