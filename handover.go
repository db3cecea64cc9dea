package rowlock

import (
	"errors"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// Within a burst a name goes from holder to holder of one process without becoming free, so nobody else gets
// it. The number bounds what a waiter of another process loses to holders of a moment: with fewer, the request
// that ends a burst and the one that begins the next weigh more; with more, little is saved yet. The time bounds
// it for holders who work longer, to whom one request more or less is nothing.
const (
	longestBurst = 100 * time.Millisecond
	mostHanded   = 16
)

// burst is how a lease came to its process: through the store, or by how many hand-overs in a row since then.
type burst struct {
	began  instant // when the first of its leases, which came through the store, was asked for
	handed int
}

// heir is the first waiter for a name, for as long as it rests. A release may take it, and tells it then what came of that.
type heir struct {
	request driver.Request
	result  chan handOver // holds one
}

// handOver is what came of handing a name over.
type handOver struct {
	grant    driver.Grant
	burst    burst   // that the grant is part of
	requests int     // that were sent
	first    instant // before the first of them was
	sent     instant // before the last of them was
	err      error   // nil if it was granted
	unknown  int     // of them, without a reply
}

// answered says whether the outcome of a hand-over is known.
func answered(err error) bool {
	var held *driver.Held
	return err == nil || errors.As(err, &held) || errors.Is(err, driver.ErrNotHeld) || driver.IsNotApplied(err)
}
