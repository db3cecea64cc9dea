package zklock

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/oneline"
)

// waiter is one waiting entry in the queue.
type waiter struct {
	entry *entry
	ttl   time.Duration
	heard time.Time // when the servers last answered

	tell  func(*driver.Held) context.Context // calls the wait function of Await with the holder, or with nil if the holder is not known yet
	begun bool                               // tell was called
	told  bool                               // tell was called with the holder
}

// wait waits until no entry blocks the waiter's entry. Before that, it calls the function tell.
func (w *waiter) wait(ctx context.Context) error {
	for {
		v, err := w.look(ctx)
		if err != nil || v.last == nil {
			return err
		}
		switch {
		case !w.told && v.holder != nil:
			held, err := w.entry.session.holder(ctx, v.holder)
			if err != nil {
				return err
			}
			if held == nil { // the holder's node was just deleted
				continue
			}
			held.Readers = readers(v.queue, held.Token)
			ctx = w.refused(held)
		case !w.begun:
			ctx = w.refused(nil)
		}
		err = w.sleep(ctx, v)
		if err != nil || v.mine != nil && w.entry.session.outlived(v.mine, v.last) {
			return err
		}
	}
}

func (w *waiter) refused(held *driver.Held) context.Context {
	w.begun, w.told = true, held != nil
	return w.tell(held)
}

// soon is how long a waiter waits before it reads who holds the lock, if it does not know the holder yet. If hand-overs
// are frequent, the waiter does not need this read, because the holder changes earlier.
const soon = 100 * time.Millisecond

// sleep waits until a watch fires, and checks from time to time that the entry's node exists.
func (w *waiter) sleep(ctx context.Context, v view) error {
	var further, mine <-chan struct{}
	if v.further != nil {
		further = v.further.fired
	}
	if v.mine != nil {
		mine = v.mine.fired
	}
	timer := time.NewTimer(w.pause())
	defer timer.Stop()
	for {
		select {
		case <-v.last.fired:
			return v.last.refused()
		case <-further:
			return v.further.refused()
		case <-mine:
			return v.mine.refused()
		case <-ctx.Done():
			return ctx.Err()
		case <-w.entry.session.ctx.Done():
			return w.entry.session.over()
		case <-timer.C:
		}
		if err := w.check(ctx); err != nil {
			return err
		}
		timer.Reset(w.pause())
	}
}

func (w *waiter) pause() time.Duration {
	pause := max(w.ttl/3, 10*time.Millisecond)
	if !w.told {
		pause = min(pause, soon)
	}
	return pause
}

// retry calls the function read until it succeeds. It gives up after a final error, or if the servers have not answered
// for one TTL.
func (w *waiter) retry(ctx context.Context, read func(context.Context) error) error {
	for {
		inner, cancel := context.WithTimeout(ctx, min(max(w.ttl/6, 100*time.Millisecond), 5*time.Second))
		err := read(inner)
		cancel()
		switch {
		case err == nil:
			w.heard = time.Now()
			return nil
		case errors.Is(err, errPlaceLost), errors.Is(err, errRejoin), isAny(err, refusedFor), w.entry.session.ctx.Err() != nil:
			return classify(err)
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(w.heard) > w.ttl:
			return oneline.Join(errSilent, err)
		}
		backoff.Sleep(ctx, 10*time.Millisecond)
	}
}
