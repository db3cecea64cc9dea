package locktest

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

var keepingCases = []testCase{
	{
		name:    "lease-is-kept",
		promise: "A lease lasts for as long as it is renewed, and nobody else acquires the name.",
		run:     leaseIsKept,
	},
	{
		name:    "leases-are-kept-together",
		promise: "Many leases of one locker are renewed in shared requests.",
		run:     leasesAreKeptTogether,
	},
}

func leaseIsKept(t *trial) {
	a, b := t.open(), t.open()
	name := t.key("x").Name
	lease := t.acquire(t.locker(a, rowlock.TTL(kept), rowlock.RenewEvery(kept/10)), name)
	t.refuseUntil(b, driver.Key{Name: name}, time.Now().Add(kept*4/3))
	if err := lease.Err(); err != nil {
		t.fatalf("a lease of %s that is renewed every %s: %v", kept, kept/10, err)
	}
	t.renewLease(lease)
	if err := lease.Release(t.ctx); err != nil {
		t.fatalf("release: %v", err)
	}
}

func leasesAreKeptTogether(t *trial) {
	const many = 30
	a, b := t.open(), t.open()
	var renewed, most atomic.Int32
	l := t.locker(a, rowlock.TTL(kept), rowlock.RenewEvery(kept/8), rowlock.Tracing(&rowlock.Trace{
		Renewed: func(e rowlock.RenewedEvent) {
			renewed.Add(1)
			if n := int32(e.Batch); n > most.Load() {
				most.Store(n)
			}
		},
	}))
	leases := make([]*rowlock.Lease, many)
	for i := range leases {
		leases[i] = t.acquire(l, t.key(fmt.Sprint(i)).Name)
	}
	t.refuseUntil(b, driver.Key{Name: leases[many-1].Name()}, time.Now().Add(kept*4/3))
	for i, lease := range leases {
		if err := lease.Err(); err != nil {
			t.fatalf("lease %d of %d: %v", i, many, err)
		}
		t.refuse(b, t.request(driver.Key{Name: lease.Name()}))
	}
	if renewed.Load() < many || most.Load() < 2 { // the size of a batch depends on how fast the leases were acquired, but at least one batch must have two leases
		t.fatalf("%d leases were renewed %d times, at most %d with one request", many, renewed.Load(), most.Load())
	}
}
