package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// AcquireQueued puts a node at the end of the queue, and waits for the one that it must wait for to
// go, and for no other: when a holder goes, one waiter wakes. It waits until ctx ends, or for as long
// as the servers say nothing for r.TTL. Whoever leaves takes the node back.
func (b *Backend) AcquireQueued(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return onSession(ctx, r, b.queued)
}

func (b *Backend) queued(ctx context.Context, r driver.Request) (driver.Grant, error) {
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
	w := &waiter{entry: e, ttl: r.TTL, heard: time.Now()}
	if !e.first {
		if err := w.wait(ctx); err != nil {
			return driver.Grant{}, e.leave(ctx, err)
		}
	}
	if e.sent.Before(began) && !e.session.provenSince(began) || !e.session.provenLately() {
		if err := e.session.check(ctx, e.path); err != nil {
			return driver.Grant{}, e.leave(ctx, err)
		}
	}
	return e.grant(r.TTL), nil
}

// stand asks for a place in the queue, whose node may have to be made.
func (b *Backend) stand(ctx context.Context, s *session, r driver.Request) (*entry, error) {
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

// wait returns once nobody stands before the entry.
func (w *waiter) wait(ctx context.Context) error {
	e := w.entry
	for {
		var ahead *place
		err := w.retry(ctx, func(ctx context.Context) error {
			q, _, err := e.store.look(ctx, e.session, e.key)
			if errors.Is(err, zk.ErrNoNode) { // without children it was cleared away
				return driver.NotApplied(errPlaceLost)
			}
			if err == nil {
				ahead, err = e.ahead(q)
			}
			return err
		})
		if err != nil || ahead == nil {
			return err
		}
		if err := w.sleep(ctx, e.session.watch(e.store.container(e.key)+"/"+ahead.node)); err != nil {
			return err
		}
	}
}

// sleep waits for the watch, and looks now and then whether the entry still has its place.
func (w *waiter) sleep(ctx context.Context, woken <-chan struct{}) error {
	e := w.entry
	ticker := time.NewTicker(max(w.ttl/3, 10*time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-woken:
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
