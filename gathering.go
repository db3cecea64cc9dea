package rowlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/clock"
	"github.com/rowlock/rowlock/internal/crew"
	"github.com/rowlock/rowlock/internal/oneline"
)

// mostRefusals limits the refused attempts of one call of AcquireAll. After that many refusals, the call changes its
// method: it holds granted names while it waits for the other names. A call that competes only with other calls of
// AcquireAll seldom needs more than two attempts.
const mostRefusals = 8

// mostFailures is how many attempts of AcquireAll may fail in a row without a refusal. Between two attempts, the call
// waits for a single name until the store replies. At the limit, the call returns the last error.
const mostFailures = 2 * mostRefusals

// gathering holds the state of one call of AcquireAll. A call never waits for a name while it holds another name,
// except in gatherInOrder.
//
// The names are requested together. After a refusal, all granted names are released, and the call waits for one of the
// refused names. So two calls cannot wait for each other. But if both calls released everything after each refusal,
// they could refuse each other again and again. Therefore a call that has waited for a name keeps that name, and begins
// its next attempt with it.
type gathering struct {
	locker  *Locker
	ctx     context.Context // the context that the caller gave
	names   []string        // in the caller's order
	opts    []Option
	started time.Time
	waited  bool                    // true if the call has waited for a name
	first   *acquisition            // an acquisition of the first name, used for its settings and for the event AcquireFailed
	all     map[string]*acquisition // the last acquisition of each name; none after abandon
}

// run returns the leases in the order of the names.
func (g *gathering) run() (leases []*Lease, err error) {
	if err := checkNames("all", g.names); err != nil {
		return nil, err
	}
	complete := false
	defer func() {
		if !complete { // an error, or a function of a Trace panicked
			g.abandon()
		}
	}()
	if err := g.enter(g.ctx, g.names); err != nil {
		return nil, err
	}
	g.first = g.all[g.names[0]]
	if err := g.gather(); err != nil {
		g.abandon()
		err = g.failure(err)
		g.first.failed(err)
		return nil, err
	}
	if err := g.seal(); err != nil {
		return nil, err
	}
	for _, name := range g.names {
		leases = append(leases, g.all[name].lease)
	}
	complete = true
	return leases, nil
}

// gather acquires all names.
func (g *gathering) gather() error {
	refused, err := g.tryMissing()
	failures := 0 // failures in a row that were no refusals
	for refusals := 1; err != nil; refusals++ {
		failures++
		if errors.Is(err, ErrHeld) {
			failures = 0
		}
		g.abandon()
		if failures == mostFailures || !g.first.mayWaitAfter(err) {
			return err
		}
		if refusals%mostRefusals == 0 {
			if ordered := g.gatherInOrder(); !errors.Is(ordered, errNotInTime) {
				return ordered
			}
			continue
		}
		if err = g.waitFor(g.ctx, refused); err != nil {
			return err
		}
		refused, err = g.tryMissing()
	}
	return nil
}

// tryMissing requests all names that are not granted, at the same time. If requests fail, it returns one of the
// failed names, and the error of that name. It returns a refusal only if there is no other failure.
func (g *gathering) tryMissing() (failed string, err error) {
	missing := slices.DeleteFunc(slices.Clone(g.names), func(name string) bool {
		a := g.all[name]
		return a != nil && a.lease != nil
	})
	slices.Sort(missing)
	if err := g.enter(g.ctx, missing); err != nil {
		return g.names[0], err
	}
	errs := g.tryEach(missing)
	for i, name := range missing {
		if outweighs(errs[i], err) {
			failed, err = name, errs[i]
		}
	}
	if err == nil {
		return g.ended()
	}
	return failed, err
}

// tryEach requests the given names at the same time, and returns the error of each name. If the backend is a
// [driver.Batcher], the first requests are one batch. A request that got no answer in the batch is then sent on its own.
// That is not necessary if the batch was refused another name. In that case the error of the name is nil.
func (g *gathering) tryEach(names []string) []error {
	all, errs := make([]*acquisition, len(names)), make([]error, len(names))
	for i, name := range names {
		all[i] = g.all[name]
	}
	reply := g.askTogether(all)
	anyRefused := slices.ContainsFunc(reply.errs, func(err error) bool {
		var held *driver.Held
		return errors.As(err, &held)
	})
	next := slices.Repeat([]verdict{again}, len(all))
	defer func() { // also if a function of a Trace panics, because requests of unknown outcome must be resolved
		var left []int // the names that were not granted
		for i, a := range all {
			if a.lease == nil {
				left = append(left, i)
			}
		}
		crew.Together(len(left), func(n int) {
			i := left[n]
			switch {
			case next[i] == again && !anyRefused:
				_, errs[i] = all[i].try()
			case next[i] == again:
				_ = all[i].giveUp()
			default:
				errs[i] = all[i].giveUp()
			}
		}, func() {})
	}()
	if reply.sent {
		crew.InTurn(len(all), func(i int) {
			_, next[i] = all[i].replied(reply.grants[i], reply.at, reply.at, reply.errs[i])
		})
	}
	return errs
}

// batchReply is the reply to a batch of requests.
type batchReply struct {
	sent   bool          // false if no batch was sent
	at     clock.Instant // just before the batch was sent
	grants []driver.Grant
	errs   []error
}

// askTogether sends the requests of all acquisitions in one batch, if the backend is a [driver.Batcher].
func (g *gathering) askTogether(all []*acquisition) (reply batchReply) {
	if g.locker.batcher == nil || len(all) < 2 {
		return reply
	}
	ctx, cancel := context.WithTimeout(g.ctx, callTimeout(g.first.cfg.ttl)/2)
	defer cancel()
	requests := make([]driver.Request, len(all))
	for i, a := range all {
		reply.at = a.sends()
		requests[i] = a.request()
	}
	reply.sent = true
	reply.grants, reply.errs = g.locker.batcher.AcquireEach(ctx, requests)
	if len(reply.grants) != len(all) || len(reply.errs) != len(all) {
		reply.grants, reply.errs = make([]driver.Grant, len(all)), slices.Repeat([]error{errBatchSize}, len(all))
	}
	return reply
}

// ended returns the name of a granted lease that has already ended, and an error. With a short [MaxHold],
// a lease can end before the other names are granted.
func (g *gathering) ended() (name string, err error) {
	for _, name := range g.names {
		a := g.all[name]
		if ended := a.lease.Err(); ended != nil {
			return name, &opError{"acquire", a.key, ErrUnavailable, errors.New("the lease ended before the other names were granted: " + ended.Error())}
		}
	}
	return "", nil
}

// errNotInTime is the error of gatherInOrder when its time is over.
var errNotInTime = errors.New("the names were not granted in time")

// gatherInOrder waits for one name after the other, and keeps the granted names. The order is the same in every
// process, so calls of AcquireAll do not deadlock with each other. Callers that acquire two of the names without
// AcquireAll may use another order, and could deadlock with this call. Therefore gatherInOrder stops after one TTL.
func (g *gathering) gatherInOrder() error {
	ctx, cancel := context.WithTimeout(g.ctx, g.first.cfg.ttl)
	defer cancel()
	for _, name := range slices.Sorted(slices.Values(g.names)) {
		err := g.waitFor(ctx, name)
		if err != nil && ctx.Err() != nil && g.ctx.Err() == nil {
			return errNotInTime
		}
		if err != nil {
			return err
		}
	}
	if _, err := g.ended(); err != nil {
		return errNotInTime
	}
	return nil
}

// waitFor acquires one name, and waits for it until ctx ends.
func (g *gathering) waitFor(ctx context.Context, name string) error {
	if err := g.enter(ctx, []string{name}); err != nil {
		return err
	}
	g.waited = true
	_, err := g.all[name].wait()
	return err
}

// enter makes a new acquisition for each of names. The requests of these acquisitions end when ctx ends.
func (g *gathering) enter(ctx context.Context, names []string) error {
	if g.all == nil {
		g.all = make(map[string]*acquisition, len(names))
	}
	for _, name := range names {
		a, err := g.locker.newAcquisition(ctx, name, g.opts)
		if err != nil {
			return err
		}
		a.started = g.started
		g.all[name] = a
	}
	return nil
}

// seal seals the data for all leases. Sealing can take long, because it waits for open transactions of earlier holders.
// Therefore gathering seals only after all names have been granted. If sealing fails for one lease, or one lease is
// lost, seal stops the other seals.
func (g *gathering) seal() error {
	if !g.first.cfg.fenced {
		return nil
	}
	ctx, cancel := context.WithCancel(g.ctx)
	defer cancel()
	for _, name := range g.names {
		le := g.all[name].lease
		defer context.AfterFunc(le.ctx, func() {
			if errors.Is(le.Err(), ErrLost) {
				cancel()
			}
		})()
	}
	var first sync.Once
	var failed error
	crew.Together(len(g.names), func(i int) {
		a := g.all[g.names[i]]
		a.ctx = ctx
		_, err := a.sealed(a.lease)
		if err != nil {
			first.Do(func() { failed = err })
			cancel()
		}
	}, cancel)
	for _, name := range g.names {
		if lost := g.all[name].lease.Err(); errors.Is(lost, ErrLost) && !errors.Is(failed, ErrLost) {
			return fmt.Errorf("rowlock: seal %s: %w", excerpt(g.all[name].key.String()), lost)
		}
	}
	return failed
}

// abandon releases all granted names.
func (g *gathering) abandon() {
	var granted []*acquisition
	for _, a := range g.all {
		granted = append(granted, a)
	}
	abandon(g.ctx, granted)
	if g.first != nil {
		g.first.count(granted)
	}
	clear(g.all)
}

// failure returns the error of the call. The parameter err is the error of one name.
func (g *gathering) failure(err error) error {
	if g.locker.closing.Err() != nil {
		return ErrClosed
	}
	var held *HeldError
	if !errors.As(err, &held) {
		return err
	}
	if g.waited {
		held.Waited = time.Since(g.started)
	}
	if len(g.names) > 1 {
		err = fmt.Errorf("%w; all %d names are needed", err, len(g.names))
	}
	if ended := g.ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = oneline.Join(err, fmt.Errorf("rowlock: acquire %s: %w", excerpt(g.first.key.String()), ended))
	}
	return err
}
