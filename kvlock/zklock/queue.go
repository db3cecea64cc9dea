package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// Enter puts a node at the end of the queue, whose turn may have come with that. If not it calls wait, and
// waits for the node that it must wait for to go, and for the one before that: when a holder goes, two waiters wake.
// It waits until the context of the wait ends, or for as long as the servers say nothing for r.TTL.
// Whoever leaves takes the node back.
func (b *Backend) Enter(ctx context.Context, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, error) {
	return onSession(ctx, r, func(ctx context.Context, r driver.Request) (driver.Grant, error) {
		return b.enterQueue(ctx, r, wait)
	})
}

func (b *Backend) enterQueue(ctx context.Context, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, error) {
	began := time.Now()
	s, e, end, err := b.begin(ctx, r)
	if err != nil {
		return driver.Grant{}, err
	}
	defer end()
	if e == nil {
		if e, err = b.stand(ctx, s, r); err != nil {
			return driver.Grant{}, err
		}
	}
	if err = e.wait(ctx); err != nil {
		return driver.Grant{}, e.leave(ctx, err)
	}
	if !e.first {
		w := &waiter{entry: e, ttl: r.TTL, heard: time.Now(), tell: func(held *driver.Held) context.Context {
			ctx = wait(held)
			return ctx
		}}
		if err := w.wait(ctx); err != nil {
			w.tellAtLast(ctx)
			return driver.Grant{}, e.leave(ctx, err)
		}
	}
	if e.sent.Before(began) && !e.session.provenSince(began) {
		if err := e.session.check(ctx, e.path); err != nil {
			return driver.Grant{}, e.leave(ctx, err)
		}
	}
	return e.grant(r.TTL), nil
}

// stand asks for a place in the queue. The lock's node may have to be made: a request that fails for that is
// a commit as well, so that what this process does not know is looked for before.
func (b *Backend) stand(ctx context.Context, s *session, r driver.Request) (*entry, error) {
	b.mu.Lock()
	_, known := b.versions.get(r.Key)
	b.mu.Unlock()
	if !known {
		_, _, err := b.look(ctx, s, r.Key)
		if errors.Is(err, zk.ErrNoNode) {
			err = b.make(ctx, s, r.Key)
		}
		if err != nil {
			return nil, ofRead(err)
		}
	}
	for {
		if err := s.await(ctx); err != nil {
			return nil, err
		}
		e := b.enter(s, r, b.shared, -1)
		if err := e.wait(ctx); !errors.Is(err, zk.ErrNoNode) {
			return e, nil
		}
		if err := b.make(ctx, s, r.Key); err != nil {
			return nil, ofRead(err)
		}
	}
}

// waiter is one place in the queue.
type waiter struct {
	entry *entry
	ttl   time.Duration
	heard time.Time // when the servers last answered

	tell  func(*driver.Held) context.Context // tells the caller who holds the lock, or nil: not known yet
	begun bool                               // it was called
	told  bool                               // and with who that is
}

// wait returns once nobody stands before the entry. What it waits for is told before.
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
			if held == nil { // it has just gone
				continue
			}
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

// view is what a waiter has seen of the queue, and watches.
type view struct {
	last    *watch // the last one that the entry must wait for; nil if there is none
	further *watch // the one before that; nil if last is the only one
	mine    *watch // the entry's own node, if last is the only one: then its turn was before ours
	holder  *watch // last or further, if it is the first of the queue
}

// view watches the last two of those in the queue whom the entry must wait for. When the further one goes there is time to look
// who is left, and to watch the own node, while the last one has its turn.
func (e *entry) view(q []place) (v view, err error) {
	ahead, err := e.ahead(q)
	if err != nil || len(ahead) == 0 {
		return v, err
	}
	container := e.store.container(e.key)
	watched := func(p place) *watch {
		w := e.session.watch(container + "/" + p.node)
		if p == q[0] {
			v.holder = w
		}
		return w
	}
	last := len(ahead) - 1
	v.last = watched(ahead[last])
	if further := before(ahead[:last], e.shared); len(further) > 0 {
		v.further = watched(further[len(further)-1])
	} else {
		v.mine = e.session.watch(e.path)
	}
	return v, nil
}

// queue lists the queue in which the entry stands.
func (e *entry) queue(ctx context.Context) ([]place, error) {
	q, _, err := e.store.look(ctx, e.session, e.key)
	if errors.Is(err, zk.ErrNoNode) { // without children it was cleared away
		return nil, driver.NotApplied(errPlaceLost)
	}
	return q, err
}

// look asks until it has seen the queue.
func (w *waiter) look(ctx context.Context) (v view, err error) {
	e := w.entry
	err = w.retry(ctx, func(ctx context.Context) error {
		q, err := e.queue(ctx)
		if err == nil {
			v, err = e.view(q)
		}
		return err
	})
	if errors.Is(err, errPlaceLost) {
		e.forget()
	}
	return v, err
}

// soon is after how long a waiter asks who holds the lock, if it does not know by then. Until it may, the holder
// of a name that goes from hand to hand has changed.
const soon = 100 * time.Millisecond

// sleep waits for a watch, and looks now and then whether the entry still has its place.
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
			return nil
		case <-further:
			return nil
		case <-mine:
			return nil
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

// check looks whether the entry still has its place, and who holds the lock unless that was told.
func (w *waiter) check(ctx context.Context) error {
	e := w.entry
	var held *driver.Held
	err := w.retry(ctx, func(ctx context.Context) error {
		if !w.told {
			var err error
			held, err = e.holder(ctx)
			return err
		}
		found, err := ask(ctx, e.session, func(c *zk.Conn) (bool, error) {
			found, _, err := c.Exists(e.path)
			return found, err
		})
		if err == nil && !found {
			return driver.NotApplied(errPlaceLost)
		}
		return err
	})
	if errors.Is(err, errPlaceLost) {
		e.forget()
	}
	if held != nil {
		w.refused(held)
	}
	return err
}

// holder tells who is first; nil if that has just gone, or is e itself.
func (e *entry) holder(ctx context.Context) (*driver.Held, error) {
	q, err := e.queue(ctx)
	if err != nil {
		return nil, err
	}
	if ahead, err := e.ahead(q); err != nil || len(ahead) == 0 {
		return nil, err
	}
	return e.store.refusal(ctx, e.session, e.key, q[0])
}

// tellAtLast is for a wait that ends, in vain, before it was told whom it was for.
func (w *waiter) tellAtLast(ctx context.Context) {
	e := w.entry
	if ctx.Err() == nil || !w.begun || w.told || e.session.ctx.Err() != nil {
		return
	}
	const limit = time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if held, err := e.holder(ctx); err == nil && held != nil {
		w.refused(held)
	}
}

// retry asks until the servers answer, but not for longer than the TTL.
func (w *waiter) retry(ctx context.Context, read func(context.Context) error) error {
	for {
		inner, cancel := context.WithTimeout(ctx, min(max(w.ttl/6, 100*time.Millisecond), 5*time.Second))
		err := read(inner)
		cancel()
		switch {
		case err == nil:
			w.heard = time.Now()
			return nil
		case errors.Is(err, errPlaceLost), isAny(err, refusedFor), w.entry.session.ctx.Err() != nil:
			return classify(err)
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(w.heard) > w.ttl:
			return errors.Join(errSilent, err)
		}
		sleep(ctx, 10*time.Millisecond)
	}
}

// leave takes the entry back, whatever became of ctx, and says in err whether it is gone for certain.
func (e *entry) leave(ctx context.Context, err error) error {
	const limit = time.Second
	inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	removal := e.remove()
	if e.session.ctx.Err() != nil {
		if e.stands() {
			err = errors.Join(errPlaceLost, err)
		}
		return driver.NotApplied(err)
	}
	var held *driver.Held
	select {
	case <-removal.done:
		if driver.IsPermanent(removal.err) {
			return removal.err
		}
		if errors.As(err, &held) {
			return err
		}
		return ofRead(err)
	case <-inner.Done(): // whatever err says, what was done may stand
		return errors.Join(ctx.Err(), fmt.Errorf("zklock: the queue was not left: %v", err)) //nolint:errorlint // see above
	}
}
