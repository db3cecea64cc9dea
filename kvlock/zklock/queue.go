package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// Await implements [driver.Awaiter]. It puts a node at the end of the queue, whose turn may have come with that. If not it calls wait, and
// waits for the node that it must wait for to go, and for the one before that: when a holder goes, two waiters wake.
// It waits until the context of the wait ends, or for as long as the servers say nothing for r.TTL.
// Whoever leaves takes the node back.
func (b *Backend) Await(ctx context.Context, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, error) {
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

// leave takes the entry back, whatever became of ctx, and says in err whether it is gone for certain.
func (e *entry) leave(ctx context.Context, err error) error {
	const limit = time.Second
	inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	removal := e.remove()
	if e.session.ctx.Err() != nil {
		if e.stands() {
			err = oneline.Join(errPlaceLost, err)
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
		return oneline.Join(ctx.Err(), fmt.Errorf("zklock: the queue was not left: %v", err)) //nolint:errorlint // see above
	}
}
