//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/compat_test/torture/history"
	"github.com/rowlock/rowlock/fence"
)

// workerArgument, as the first argument, makes this program run as a worker. The second argument is the worker's job.
const workerArgument = "-worker"

// worker is one process: several loops that use one locker.
type worker struct {
	job
	*client
	log    *history.Log
	mutant *mutant
	locker *rowlock.Locker
	tries  atomic.Int64
	walked atomic.Int64 // the number of requests of the dense loops
	leases sync.Map     // the *rowlock.Lease of each acquisition; the key is the holder's name in the store
	grants sync.Map     // the acquisitions that were granted, but whose Acquire has not returned yet
}

// runWorker works until the supervisor stops the worker by SIGTERM, kills the worker, or ends itself.
func runWorker(text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3) // the supervisor has ended, so it cannot end this worker
	}()

	s, err := findStore(j.Store)
	if err != nil {
		return err
	}
	log, err := history.OpenLog(j.Folder, j.Worker)
	if err != nil {
		return err
	}
	c, err := s.open(j)
	if err != nil {
		return err
	}
	defer c.close()
	w := &worker{job: j, client: c, log: log, mutant: findMutant(j.Mutant)}
	if w.mutant.backend != nil {
		c.backend = w.mutant.backend(c.backend)
	}
	if w.mutant.client != nil {
		w.mutant.client(c)
	}
	// Renewals are rarer than by default. A holder notices a forced release only at a renewal, so it continues for a
	// while before it notices.
	w.locker, err = rowlock.New(c.backend, rowlock.TTL(j.TTL), rowlock.RenewEvery(j.TTL/2), rowlock.Tracing(w.trace()))
	if err != nil {
		return err
	}
	caps := w.locker.Capabilities()
	start := history.Event{Kind: history.Start, Name: caps.Backend, Outcome: caps.Token.String(), Shared: caps.Shares}
	if caps.Ticks {
		start.Detail = history.Ticks
	}
	log.Write(start)
	var loops sync.WaitGroup
	for id, loop := range w.loops() {
		random := rand.New(rand.NewPCG(j.Seed, uint64(j.Worker)<<8|uint64(id)))
		loops.Go(func() {
			for ctx.Err() == nil {
				loop(ctx, random)
				pause(ctx, random, j.Pace)
			}
		})
	}
	loops.Wait()
	return ignoreUnknown(w.locker.Close())
}

// ignoreUnknown ignores the error of a locker that could not release all leases: the store may be unreachable.
func ignoreUnknown(err error) error {
	if errors.Is(err, rowlock.ErrUnknown) || errors.Is(err, rowlock.ErrUnavailable) || errors.Is(err, rowlock.ErrLost) {
		return nil
	}
	return err
}

// loops returns the loops that a worker runs concurrently until it is stopped.
func (w *worker) loops() []func(context.Context, *rand.Rand) {
	mine := "chain-" + strconv.Itoa(w.Slot%chains)
	usual := tempo{w.TTL / 50, 1}
	all := []func(context.Context, *rand.Rand){
		func(ctx context.Context, r *rand.Rand) { w.chain(ctx, r, mine, usual, w.sealer, true, mine) },
		func(ctx context.Context, r *rand.Rand) { w.chain(ctx, r, pairName, usual, w.pair, true, left, right) },
		func(ctx context.Context, r *rand.Rand) { w.chain(ctx, r, controlName, usual, nil, false, controlName) },
		func(ctx context.Context, r *rand.Rand) { w.churn(ctx, r, "churn-"+strconv.Itoa(r.IntN(churns)), usual) },
		w.relay,
		w.together,
		func(ctx context.Context, r *rand.Rand) {
			w.churn(ctx, r, togetherNames[r.IntN(len(togetherNames))], usual)
		},
		w.slot,
		w.slot,
	}
	if w.locker.Capabilities().Ticks {
		all = append(all, w.once)
	}
	if w.locker.Capabilities().Shares {
		all = append(all, w.reader, w.reader)
		if w.Slot == 0 { // in the other workers no writer is in the queue of the process, ahead of the readers
			all = append(all, w.writer)
		}
	}
	if w.Dense {
		all = append(all, slices.Repeat([]func(context.Context, *rand.Rand){w.dense}, denseLoops)...)
	}
	return all
}

// pause waits for about d.
func pause(ctx context.Context, r *rand.Rand, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-time.After(time.Duration(r.Int64N(int64(2 * d)))):
	case <-ctx.Done():
	}
}

// acquire requests a lock, and logs the outcome.
func (w *worker) acquire(ctx context.Context, ask func(context.Context, string, ...rowlock.Option) (*rowlock.Lease, error), name string, opts ...rowlock.Option) (*hold, bool) {
	try := w.newTry()
	w.log.Write(history.Event{Kind: history.Acquire, Try: try, Name: name})
	lease, err := ask(ctx, name, append(opts, rowlock.Holder(try))...)
	_, granted := w.grants.LoadAndDelete(try)
	if err != nil {
		w.log.Write(history.Event{Kind: history.Refused, Try: try, Name: name, Outcome: refusal(ctx, granted, err), Detail: err.Error()})
		return nil, false
	}
	return w.granted(lease, try, 0), true
}

// newTry returns a new name for an acquisition.
func (w *worker) newTry() string { return fmt.Sprintf("w%d-%d", w.Worker, w.tries.Add(1)) }

// granted logs a lease that the worker has received.
func (w *worker) granted(lease *rowlock.Lease, try string, tick int64) *hold {
	w.leases.Store(try, lease)
	h := &hold{worker: w, lease: lease, try: try, tick: tick}
	e := h.event(history.Granted)
	e.Until = trustEnd(&e, lease)
	w.log.Write(e)
	return h
}

// trustEnd sets the instants of an event, and returns the end of trust. It reads the lease before the clocks.
// Otherwise, if the lease was renewed between the two reads, the event would report a renewal that came after its
// instant. The result is never too late, because time.Until reads the clock after e.At.
func trustEnd(e *history.Event, lease *rowlock.Lease) int64 {
	end := lease.ExpiresAt()
	e.Wall = time.Now().UnixNano()
	e.At = history.Now()
	return e.At + int64(time.Until(end))
}

// refusal returns why the lock was not acquired. A granted lock is released if its data cannot be sealed.
func refusal(ctx context.Context, granted bool, err error) string {
	switch {
	case errors.Is(err, rowlock.ErrDone):
		return history.Done
	case errors.Is(err, rowlock.ErrHeld):
		return history.Held
	case errors.Is(err, fence.ErrStale), errors.Is(err, fence.ErrRetry), errors.Is(err, rowlock.ErrNotHeld),
		granted && errors.Is(err, rowlock.ErrUnavailable):
		return history.Unsealed
	case errors.Is(err, rowlock.ErrUnknown):
		return history.Unknown
	case errors.Is(err, rowlock.ErrUnavailable):
		return history.Unavailable
	case errors.Is(err, rowlock.ErrClosed), ctx.Err() != nil:
		return history.Cancelled
	}
	return history.Failed
}

// trace returns a rowlock.Trace. The library calls its functions for each grant, renewal and loss, and these functions
// log the event.
func (w *worker) trace() *rowlock.Trace {
	event := func(kind history.Kind, l rowlock.LeaseInfo) history.Event {
		return history.Event{Kind: kind, Name: l.Name, Token: int64(l.Token), Try: history.TryOf(l.Holder, l.Name)}
	}
	return &rowlock.Trace{
		Acquired: func(l rowlock.AcquiredEvent) { w.grants.Store(l.Holder, struct{}{}) },
		Renewed: func(r rowlock.RenewedEvent) {
			e := event(history.Renewed, r.LeaseInfo)
			if lease, ok := w.leases.Load(e.Try); ok {
				e.Until = trustEnd(&e, lease.(*rowlock.Lease))
				w.log.Write(e)
			}
		},
		Lost: func(l rowlock.LostEvent) {
			e := event(history.Lost, l.LeaseInfo)
			e.Outcome = l.Reason.String()
			w.log.Write(e)
		},
	}
}
