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

// span is a time in which a process believed that it held the lock.
type span struct {
	token      rowlock.Token
	begin, end time.Time
}

// verdict is what the processes of one schedule believed, and the first thing that was wrong.
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

// of says where two processes believed to hold the lock at once, a token did not rise, or what else was wrong.
func (v *verdict) of() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	slices.SortFunc(v.spans, func(a, b span) int { return a.begin.Compare(b.begin) })
	for i := 1; i < len(v.spans) && v.wrong == ""; i++ {
		a, b := v.spans[i-1], v.spans[i]
		switch {
		case b.begin.Before(a.end):
			return fmt.Sprintf("token %d was believed until %s, token %d from %s", a.token, a.end, b.token, b.begin)
		case b.token <= a.token:
			return fmt.Sprintf("token %d came after token %d", b.token, a.token)
		}
	}
	return v.wrong
}

// watched is a lease and what its holder may say of it.
type watched struct {
	*rowlock.Lease
	v     *verdict
	c     *client
	trust time.Duration
	begin time.Time
	ended chan struct{} // closed once trust has ended and was judged
}

// watch judges the trust in a lease: it is the store's, it ends in time, and it is not lost for nothing.
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
		w.v.broken("token %d was believed for %s after its deadline", w.Token(), late)
	}
	if lost != nil {
		w.believed(end, state)
	}
	switch {
	case lost == nil:
	case lost.Reason == rowlock.LostTaken && !denied:
		w.v.broken("token %d was lost as taken, and the store has not said so", w.Token())
	case lost.Reason == rowlock.LostExpired && troubled == 0:
		w.v.broken("token %d was lost at its deadline, and no request had failed", w.Token())
	}
	if w.begin.Before(taken) { // else it was taken before its holder had it
		w.v.add(span{w.Token(), w.begin, earliest(end, taken)})
	}
}

// believed judges trust in a lease of which the store says so much.
func (w *watched) believed(until time.Time, state driver.Status) {
	if until.Before(w.c.takenAt(w.Token())) && (state.Token != w.Token() || state.ExpiresIn < 0) {
		w.v.broken("token %d was believed until %s, when the store had %+v", w.Token(), until, state)
	}
}

// release judges what a release says.
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
		w.v.broken("token %d was lost, and its release says %v", w.Token(), err)
	case err == nil && state.Token == w.Token() && state.State == driver.StateHeld:
		w.v.broken("token %d was released, and the store has %+v", w.Token(), state)
	case errors.Is(err, rowlock.ErrLost) && !lost && !denied:
		w.v.broken("token %d was lost by its release, and the store has not said so", w.Token())
	case errors.Is(err, rowlock.ErrLost) && !lost && time.Now().Before(w.c.takenAt(w.Token())) && time.Since(proven) < w.trust:
		w.v.broken("token %d was lost by its release, and nobody has taken it", w.Token())
	case (errors.Is(err, rowlock.ErrUnknown) || errors.Is(err, rowlock.ErrUnavailable)) && before == after:
		w.v.broken("token %d was released with %v, and no request had failed", w.Token(), err)
	case err != nil && kinds(err) != 1:
		w.v.broken("the release of token %d says %d things at once: %v", w.Token(), kinds(err), err)
	}
}

// refused judges why there is no lease. Alone is a process in which nobody else waits.
func (v *verdict) refused(err error, c *client, alone bool, refusals, troubled int) {
	nowRefusals, nowTroubled, _, _ := c.told(0)
	switch {
	case errors.Is(err, rowlock.ErrClosed):
	case errors.Is(err, rowlock.ErrHeld) && errors.Is(err, rowlock.ErrUnavailable), kinds(err) > 1:
		v.broken("held and unavailable are two things: %v", err)
	case errors.Is(err, rowlock.ErrHeld) && alone && nowRefusals == refusals:
		v.broken("held, and the store has not said so: %v", err)
	case errors.Is(err, rowlock.ErrUnavailable) && nowTroubled == troubled:
		v.broken("unavailable, and no request had failed: %v", err)
	case kinds(err) == 0 && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled):
		v.broken("an error of no kind: %v", err)
	}
}

// kinds is how many of the outcomes that are never one another an error is.
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
