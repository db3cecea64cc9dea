package locktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/inprocess"
	"github.com/rowlock/rowlock/memlock"
)

// powerful is a store in memory whose harness can also restart it, and open clients without a right.
type powerful struct {
	*inprocess.Harness
	restart func()
	limit   func(driver.Backend) driver.Backend // makes a client lack a right
	lone    bool                                // each grant of a renewal counts as one request
	sent    map[driver.Backend]int
}

// newPowerful returns a harness whose store keeps everything over a restart.
func newPowerful(store inprocess.Memory) *powerful {
	return &powerful{
		Harness: inprocess.New(store), restart: func() {},
		limit: func(b driver.Backend) driver.Backend { return denied{b} }, sent: map[driver.Backend]int{},
	}
}

func (h *powerful) Restart(context.Context) error {
	h.restart()
	return nil
}

func (h *powerful) OpenLimited(ctx context.Context) (driver.Backend, string, error) {
	b, err := h.Open(ctx)
	return h.limit(b), "INSERT", err
}

func (h *powerful) Close(driver.Backend) error { return nil } // a store in memory has no connections

func (h *powerful) Requests(b driver.Backend) (int, error) {
	n, err := h.Harness.Requests(b)
	if h.lone { // 41 of the 42 requests so far are the grants and the first renewal
		h.sent[b] += 40
	}
	return n + h.sent[b], err
}

// wakesWithoutEnd wakes each waiter a thousand times a second.
type wakesWithoutEnd struct{ *memlock.Backend }

func (wakesWithoutEnd) Notify(_ context.Context, _ driver.Key, wake func()) (stop func(), err error) {
	ended := make(chan struct{})
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				wake()
			case <-ended:
				return
			}
		}
	}()
	return func() { close(ended) }, nil
}

var errDenied = errors.New("the user lacks the privilege INSERT")

// denied is a client without a right.
type denied struct{ driver.Backend }

func (denied) Acquire(context.Context, driver.Request) (driver.Grant, error) {
	return driver.Grant{}, driver.Permanent(driver.NotApplied(errDenied))
}

type deniedAsHeld struct{ driver.Backend }

func (deniedAsHeld) Acquire(context.Context, driver.Request) (driver.Grant, error) {
	return driver.Grant{}, &driver.Held{}
}

// deniedTooLate grants before it fails.
type deniedTooLate struct{ driver.Backend }

func (d deniedTooLate) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if _, err := d.Backend.Acquire(ctx, r); err != nil {
		return driver.Grant{}, err
	}
	return driver.Grant{}, driver.Permanent(errDenied)
}

// powerMutants are defects that only a harness with more powers than those of a store in memory can show.
var powerMutants = []struct {
	defect   string
	build    func() *powerful
	caughtBy []string
}{
	{"forgets everything in a restart", func() *powerful {
		store := &swapped{memlock.New()}
		h := newPowerful(store)
		h.restart = func() { store.Backend = memlock.New() }
		return h
	}, []string{"restart-keeps-leases"}},
	{"restarts its tokens", func() *powerful {
		store := tokens(constant)(memlock.New()).(*counting)
		store.defect = restartsAfterPrune
		h := newPowerful(store)
		h.restart = func() { clear(store.count) }
		return h
	}, []string{"restart-keeps-tokens"}},
	{"wakes a waiter without end", func() *powerful { return newPowerful(plain[wakesWithoutEnd](memlock.New())) }, []string{"parked-waiter-is-quiet"}},
	{"sends a request for each renewal", func() *powerful {
		h := newPowerful(memlock.New())
		h.lone = true
		return h
	}, []string{"renewals-travel-together"}},
	{"reports a missing right as held", limitedBy(func(b driver.Backend) driver.Backend { return deniedAsHeld{b} }), []string{"missing-right-is-named"}},
	{"grants before it misses a right", limitedBy(func(b driver.Backend) driver.Backend { return deniedTooLate{b} }), []string{"missing-right-leaves-nothing"}},
}

// swapped is a store that a restart replaces by another.
type swapped struct{ *memlock.Backend }

func limitedBy(limit func(driver.Backend) driver.Backend) func() *powerful {
	return func() *powerful {
		h := newPowerful(memlock.New())
		h.limit = limit
		return h
	}
}

func TestEveryMutantOfAPowerIsCaught(t *testing.T) {
	for _, m := range powerMutants {
		t.Run(m.defect, func(t *testing.T) {
			t.Parallel()
			isCaught(t, m.build(), m.caughtBy)
		})
	}
}

// The store without a defect passes all cases.
func TestThePowerfulStorePasses(t *testing.T) {
	t.Parallel()
	require.NoError(t, usual.check(t.Context(), newPowerful(memlock.New()), append(append(restartCases, requestCases...), rightCases...), func(Result) {}))
}
