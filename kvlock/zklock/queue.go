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
// waits for the node that it must wait for to go, and for no other: when a holder goes, one waiter wakes.
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
		w := &waiter{entry: e, ttl: r.TTL, heard: time.Now()}
		err := w.wait(ctx, func(held *driver.Held) context.Context {
			ctx = wait(held)
			return ctx
		})
		if err != nil {
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
}

// wait returns once nobody stands before the entry. Once it is known who does it calls begin for the
// context of what follows.
func (w *waiter) wait(ctx context.Context, begin func(*driver.Held) context.Context) error {
	e, told := w.entry, false
	for {
		q, err := w.look(ctx)
		if err != nil {
			return err
		}
		ahead, err := e.ahead(q)
		if err != nil || len(ahead) == 0 {
			return err
		}
		last := len(ahead) - 1
		var mine *watch
		if len(before(ahead[:last], e.shared)) == 0 { // it is the only one, so that its turn was before ours
			mine = e.session.watch(e.path)
		}
		other := e.session.watch(e.store.container(e.key) + "/" + ahead[last].node)
		if !told {
			held, err := w.holder(ctx, q[0], ahead[last], other)
			if err != nil {
				return err
			}
			if held == nil { // it has just gone
				continue
			}
			ctx, told = begin(held), true
		}
		err = w.sleep(ctx, mine, other)
		if err != nil || mine != nil && e.session.outlived(mine, other) {
			return err
		}
	}
}

// look lists the queue.
func (w *waiter) look(ctx context.Context) (q []place, err error) {
	e := w.entry
	err = w.retry(ctx, func(ctx context.Context) (err error) {
		q, _, err = e.store.look(ctx, e.session, e.key)
		if errors.Is(err, zk.ErrNoNode) { // without children it was cleared away
			return driver.NotApplied(errPlaceLost)
		}
		return err
	})
	return q, err
}

// holder tells who is first, which may be the one that is watched; nil if it has just gone.
func (w *waiter) holder(ctx context.Context, first, watched place, watch *watch) (held *driver.Held, err error) {
	e := w.entry
	if first == watched {
		return e.session.holder(ctx, watch)
	}
	err = w.retry(ctx, func(ctx context.Context) (err error) {
		held, err = e.store.refusal(ctx, e.session, e.key, first)
		return err
	})
	return held, err
}

// sleep waits for a watch, of which mine may be nil, and looks now and then whether the entry still has its place.
func (w *waiter) sleep(ctx context.Context, mine, other *watch) error {
	e := w.entry
	var moved <-chan struct{}
	if mine != nil {
		moved = mine.fired
	}
	ticker := time.NewTicker(max(w.ttl/3, 10*time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-other.fired:
			return nil
		case <-moved:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-e.session.ctx.Done():
			return e.session.over()
		case <-ticker.C:
		}
		err := w.retry(ctx, func(ctx context.Context) error {
			found, err := ask(ctx, e.session, func(c *zk.Conn) (bool, error) {
				found, _, err := c.Exists(e.path)
				return found, err
			})
			if err == nil && !found {
				e.forget()
				return driver.NotApplied(errPlaceLost)
			}
			return err
		})
		if err != nil {
			return err
		}
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
