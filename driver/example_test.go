package driver_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// A backend returns the same grant if an acquire is sent again with the same nonce. It refuses a request with another
// nonce until the grant has been released.
func ExampleBackend() {
	var store driver.Backend = memlock.New()
	ctx := context.Background()
	request := driver.Request{Key: driver.Key{Name: "nightly"}, Nonce: driver.NewNonce(), Holder: "one", TTL: time.Minute}
	grant, err := store.Acquire(ctx, request)
	if err != nil {
		panic(err)
	}
	again, err := store.Acquire(ctx, request)
	fmt.Println("the same grant:", err == nil && again.Token == grant.Token)

	other := driver.Request{Key: request.Key, Nonce: driver.NewNonce(), Holder: "other", TTL: time.Minute}
	_, err = store.Acquire(ctx, other)
	var held *driver.Held
	fmt.Println("held by", errors.As(err, &held), held.Holder)

	if err := store.Release(ctx, grant); err != nil {
		panic(err)
	}
	next, err := store.Acquire(ctx, other)
	fmt.Println("a larger token:", err == nil && next.Token > grant.Token)
	// Output:
	// the same grant: true
	// held by true one
	// a larger token: true
}
