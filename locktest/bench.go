package locktest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rowlock/rowlock/driver"
)

// Bench measures operations that every backend has, so that the figures of backends can be compared. The operations are: acquire
// and release of a free name, an attempt to acquire a held name, and the renewal of 100 leases with one call. The time of a
// renewal is the time of that one call. Bench calls newHarness once.
func Bench(b *testing.B, newHarness func(tb testing.TB) Harness) {
	b.Helper()
	ctx := context.Background()
	h := newHarness(b)
	client, err := h.Open(ctx)
	if err != nil {
		b.Fatalf("open a client: %v", err)
	}
	if c, ok := h.(Closer); ok {
		b.Cleanup(func() { _ = c.Close(client) })
	}
	unique := driver.NewNonce().String()
	request := func(name string) driver.Request {
		return driver.Request{Key: driver.Key{Name: "locktest/" + unique + "/" + name}, Nonce: driver.NewNonce(), TTL: steady, Holder: "locktest"}
	}
	acquire := func(b *testing.B, name string) driver.Grant {
		g, err := client.Acquire(ctx, request(name))
		if err != nil {
			b.Fatalf("acquire: %v", err)
		}
		return g
	}
	renew := func(b *testing.B, grants []driver.Grant) {
		outcomes, err := client.Renew(ctx, grants)
		if err != nil {
			b.Fatalf("renew: %v", err)
		}
		for _, o := range outcomes {
			if o != driver.Renewed {
				b.Fatalf("renew: %s", o)
			}
		}
	}

	b.Run("acquire-release", func(b *testing.B) {
		for b.Loop() {
			if err := client.Release(ctx, acquire(b, "free")); err != nil {
				b.Fatalf("release: %v", err)
			}
		}
	})
	b.Run("try-held", func(b *testing.B) {
		g := acquire(b, "held")
		g.TTL = 1000 * steady
		renew(b, []driver.Grant{g})
		defer client.Release(ctx, g)
		for b.Loop() {
			var held *driver.Held
			if _, err := client.Acquire(ctx, request("held")); !errors.As(err, &held) {
				b.Fatalf("want *driver.Held, got %v", err)
			}
		}
	})
	b.Run("renew-100", func(b *testing.B) {
		grants := make([]driver.Grant, 100)
		for i := range grants {
			grants[i] = acquire(b, fmt.Sprint("many", i))
			defer client.Release(ctx, grants[i])
		}
		for b.Loop() {
			renew(b, grants)
		}
	})
}
