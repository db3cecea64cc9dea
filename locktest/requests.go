package locktest

import (
	"fmt"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

var requestCases = []testCase{
	{
		name:    "parked-waiter-is-quiet",
		promise: "The parked waiters of one process send at most two requests a second, where a release wakes them.",
		needs:   []power{counted},
		run:     parkedWaiterIsQuiet,
	},
	{
		name:    "renewals-travel-together",
		promise: "The renewal of many leases costs a few requests.",
		needs:   []power{counted},
		run:     renewalsTravelTogether,
	},
}

const (
	// observed is how long a parked waiter is observed. It is several times longer than the time between two polls.
	observed = 6 * time.Second
	// perSecond is the largest number of requests in a second.
	perSecond = 2
	// arriving is how many requests a waiter may send in addition, in order to enter a queue or to subscribe.
	arriving = 4
)

func (t *trial) requests(b driver.Backend) int {
	n, err := t.harness.(Counter).Requests(b)
	if err != nil {
		t.fatalf("count the requests of a client: %v", err)
	}
	return n
}

// parkedWaiterIsQuiet observes many waiters of one process for one name, because a process has the same limit.
func parkedWaiterIsQuiet(t *trial) {
	a, b := t.open(), t.open()
	if !b.Capabilities().Wakes {
		t.skipf("a release of this backend wakes no waiter of another process, so its waiters poll")
	}
	name := t.key("x").Name
	holder := t.acquire(t.locker(a, rowlock.TTL(longest)), name)
	l := t.locker(b, rowlock.TTL(longest))
	first := t.wait(t.ctx, l, name)
	for range 5 {
		t.wait(t.ctx, l, name)
	}
	before, began := t.requests(b), time.Now()
	t.rest(observed)
	sent, most := t.requests(b)-before, int(time.Since(began).Seconds()*perSecond)+arriving
	if sent > most {
		t.fatalf("waiters of one process sent %d requests in %s, and not at most %d", sent, time.Since(began).Round(time.Millisecond), most)
	}
	t.handOn(holder)
	t.handOn(t.has(first))
}

// rest waits until the time has passed.
func (t *trial) rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.ctx.Done():
		t.fatalf("%v", t.ctx.Err())
	}
}

func renewalsTravelTogether(t *trial) {
	const many, most = 40, 8
	b := t.open()
	var grants []driver.Grant
	for i := range many {
		r := t.request(t.key(fmt.Sprint(i)))
		r.TTL = longest
		grants = append(grants, t.grant(b, r))
	}
	t.renewAll(b, grants...) // prepares statements and opens connections
	before := t.requests(b)
	for i, o := range t.renewAll(b, grants...) {
		if o != driver.Renewed {
			t.fatalf("renewal %d of %d: want renewed, got %s", i, many, o)
		}
	}
	if sent := t.requests(b) - before; sent > most {
		t.fatalf("the renewal of %d leases sent %d requests, and not at most %d", many, sent, most)
	}
}
