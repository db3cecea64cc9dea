package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// span is a time during which a process trusted its lease.
type span struct {
	token      rowlock.Token
	begin, end time.Time
	shared     bool // the process is a reader
}

// verdict records the spans of the processes in one schedule, and the first error.
type verdict struct {
	mu    sync.Mutex
	spans []span
	wrong string
}

func (v *verdict) add(s span) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.spans = append(v.spans, s)
}

func (v *verdict) broken(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.wrong == "" {
		v.wrong = fmt.Sprintf(format, args...)
	}
}

// The method of returns the first recorded error. If there is none, it returns an error if two spans overlap or a
// token did not rise, and otherwise an empty text. The spans of readers with the same token may overlap.
func (v *verdict) of() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	slices.SortFunc(v.spans, func(a, b span) int { return a.begin.Compare(b.begin) })
	for i, b := range v.spans {
		for _, a := range v.spans[:i] {
			switch {
			case v.wrong != "" || a.shared && b.shared && a.token == b.token:
			case b.begin.Before(a.end):
				v.wrong = fmt.Sprintf("token %d was trusted until %s, token %d from %s", a.token, a.end, b.token, b.begin)
			case b.token <= a.token:
				v.wrong = fmt.Sprintf("token %d came after token %d", b.token, a.token)
			}
		}
	}
	return v.wrong
}

// watched is a lease whose trust is checked.
type watched struct {
	*rowlock.Lease
	v     *verdict
	c     *client
	trust time.Duration
	begin time.Time
	ended chan struct{} // closed when the trust has ended and judge has checked it
}

// watch checks a lease until its context ends. The store must have held the lease until then, and the context must
// have ended in time. If the lease was lost, the reported reason must be true.
func (v *verdict) watch(lease *rowlock.Lease, c *client, trust time.Duration) *watched {
	w := &watched{Lease: lease, v: v, c: c, trust: trust, begin: time.Now(), ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		<-lease.Context().Done()
		w.judge(time.Now())
	}()
	return w
}

func (w *watched) judge(end time.Time) {
	_, troubled, proven, denied := w.c.told(w.Token())
	taken := w.c.takenAt(w.Token())
	state := w.c.state()
	var lost *rowlock.LostError
	errors.As(context.Cause(w.Context()), &lost)
	if late := end.Sub(proven.Add(w.trust)); late > 0 {
		w.v.broken("token %d was trusted for %s after its deadline", w.Token(), late)
	}
	if lost != nil {
		w.believed(end, state)
	}
	switch {
	case lost == nil:
	case lost.Reason == rowlock.LostTaken && !denied:
		w.v.broken("token %d was reported as taken, but the store did not say so", w.Token())
	case lost.Reason == rowlock.LostExpired && troubled == 0:
		w.v.broken("token %d was lost at its deadline, but no request had failed", w.Token())
	}
	if w.begin.Before(taken) { // otherwise an operator ended the lease before the holder received it
		w.v.add(span{w.Token(), w.begin, earliest(end, taken), w.Shared()})
	}
}

// believed records an error if the holder trusted the lease until the given time although the store did not hold it.
func (w *watched) believed(until time.Time, state driver.Status) {
	if until.Before(w.c.takenAt(w.Token())) && (state.Token != w.Token() || state.ExpiresIn < 0) {
		w.v.broken("token %d was trusted until %s, but the store had %+v", w.Token(), until, state)
	}
}

// release releases the lease and checks the result.
func (w *watched) release() {
	_, before, proven, _ := w.c.told(w.Token())
	lost := errors.Is(w.Err(), rowlock.ErrLost)
	if !lost {
		w.believed(time.Now(), w.c.state())
	}
	err := w.Release(background)
	<-w.ended
	_, after, _, denied := w.c.told(w.Token())
	state := w.c.state()
	switch {
	case lost && !errors.Is(err, rowlock.ErrLost):
		w.v.broken("token %d was lost, but its release returned %v", w.Token(), err)
	case err == nil && state.Token == w.Token() && state.State == driver.StateHeld:
		w.v.broken("token %d was released, but the store has %+v", w.Token(), state)
	case errors.Is(err, rowlock.ErrLost) && !lost && !denied:
		w.v.broken("token %d was reported as lost by its release, but the store did not say so", w.Token())
	case errors.Is(err, rowlock.ErrLost) && !lost && time.Now().Before(w.c.takenAt(w.Token())) && time.Since(proven) < w.trust:
		w.v.broken("token %d was reported as lost by its release, but nobody has taken it", w.Token())
	case (errors.Is(err, rowlock.ErrUnknown) || errors.Is(err, rowlock.ErrUnavailable)) && before == after:
		w.v.broken("token %d was released with %v, but no request had failed", w.Token(), err)
	case err != nil && kinds(err) != 1:
		w.v.broken("the release of token %d has %d kinds at once: %v", w.Token(), kinds(err), err)
	}
}

// refused checks the error of an acquire. If the parameter alone is true, no other caller of this process waits. The
// parameters refusals and troubled are the counts that client.told returned before the acquire.
func (v *verdict) refused(err error, c *client, alone bool, refusals, troubled int) {
	nowRefusals, nowTroubled, _, _ := c.told(0)
	switch {
	case errors.Is(err, rowlock.ErrClosed):
	case errors.Is(err, rowlock.ErrHeld) && errors.Is(err, rowlock.ErrUnavailable), kinds(err) > 1:
		v.broken("an error is both held and unavailable: %v", err)
	case errors.Is(err, rowlock.ErrHeld) && alone && nowRefusals == refusals:
		v.broken("held, but the store did not say so: %v", err)
	case errors.Is(err, rowlock.ErrUnavailable) && nowTroubled == troubled:
		v.broken("unavailable, but no request had failed: %v", err)
	case kinds(err) == 0 && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled):
		v.broken("an error of unknown kind: %v", err)
	}
}

// kinds returns how many of the errors ErrHeld, ErrLost, ErrUnknown and ErrUnavailable err matches.
func kinds(err error) (n int) {
	for _, kind := range []error{rowlock.ErrHeld, rowlock.ErrLost, rowlock.ErrUnknown, rowlock.ErrUnavailable} {
		if errors.Is(err, kind) {
			n++
		}
	}
	return n
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
