package zklock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// waiter is an entry that another entry may block.
type waiter struct {
	*entry

	tell func(*driver.Held) context.Context // calls the wait function of Await with the holder, or with nil if the holder is not known yet; nil for an attempt
	told bool                               // tell was called with the holder
}

// wait waits until no entry blocks the waiter's entry. Before that, it calls the function tell. An attempt returns a
// refusal instead. The waiter watches the last node that it must wait for, so a release wakes one waiter. When the node
// changes, the waiter reads the queue. It also does so from time to time, because its own node may have been deleted.
//
// If other waiters are before this one, the caller of Await learns the holder after a tenth of a second, or when ctx
// ends. If hand-overs are frequent, that read of the holder is not needed, because the holder changes earlier.
func (w *waiter) wait(ctx context.Context) error {
	every := max(w.TTL/3, 10*time.Millisecond)
	for early := w.tell != nil; ; early = false {
		watch, held, err := w.look(ctx, early)
		switch {
		case err != nil || watch == nil:
			return err
		case w.tell == nil && held == nil: // the holder's node was just deleted
			return &driver.Held{Reason: driver.Contended}
		case w.tell == nil:
			return held
		case !w.told:
			ctx, w.told = w.tell(held), held != nil
		}
		limit := every
		if !w.told {
			limit = min(every, 100*time.Millisecond)
		}
		timer := time.NewTimer(limit)
		select {
		case <-watch.fired:
			err = watch.err
		case <-w.session.ctx.Done():
			err = w.session.over()
		case <-ctx.Done():
			w.report(ctx)
			err = ctx.Err()
		case <-timer.C:
		}
		timer.Stop()
		if err != nil {
			return err
		}
	}
}

// look reads the queue. It returns a watch on the last node that the waiter must wait for, or nil if no entry blocks the
// waiter. If the caller of Await does not know the holder, look also describes the holder. But if the parameter early is
// true, it does so only if that needs no further read. Less than a third of the TTL before look, the servers have
// answered, so look gives up when they have been silent for one TTL.
func (w *waiter) look(ctx context.Context, early bool) (*watch, *driver.Held, error) {
	inner, cancel := context.WithTimeout(ctx, max(w.TTL*2/3, 100*time.Millisecond))
	defer cancel()
	q, ahead, err := w.queue(inner)
	switch {
	case err != nil && inner.Err() != nil && ctx.Err() == nil:
		return nil, nil, oneline.Join(errSilent, err)
	case err != nil:
		return nil, nil, classify(err)
	case len(ahead) == 0:
		return nil, nil, nil
	case w.Shared && firstWriter(q) < 0: // the writer between this reader and the readers of an earlier epoch has given up
		return nil, nil, errRejoin
	}
	last := ahead[len(ahead)-1]
	path := w.backend.container(w.Key) + "/" + last.node
	watch := w.session.watch(path)
	var held *driver.Held
	switch {
	case w.told:
	case last == lead(q):
		select {
		case <-watch.set:
			held = parseNode(path, watch.data, watch.stat).holds(q)
		case <-watch.fired:
		case <-w.session.ctx.Done():
			err = w.session.over()
		case <-inner.Done():
			err = inner.Err()
		}
	case !early:
		held, err = w.backend.refusal(inner, w.session, w.Key, q)
	}
	return watch, held, err
}

// report tells the caller of Await who holds the lock, although ctx has ended.
func (w *waiter) report(ctx context.Context) {
	if w.told {
		return
	}
	brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	select {
	case <-w.remove("").done: // the entry is not the holder's, and blocks no other waiters during the read
	case <-brief.Done():
	}
	if h, _ := w.backend.head(brief, w.session, w.Key); h.held != nil {
		w.tell(h.held)
	}
}
