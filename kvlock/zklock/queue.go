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

// Await implements [driver.Awaiter]. It puts a node at the end of the queue. If the queue was empty, the lock is
// granted. Otherwise Await calls the function wait, and waits until the node before its own is deleted. It also watches
// the second node before its own, so a release wakes two waiters. Await gives up when the context that wait returned
// ends, or when the servers have not answered for r.TTL. It then deletes its node.
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
	for {
		if e == nil {
			if e, err = b.stand(ctx, s, r); err != nil {
				return driver.Grant{}, err
			}
		}
		if err = e.wait(ctx); err != nil {
			return driver.Grant{}, e.leave(ctx, err)
		}
		if e.first {
			break
		}
		w := &waiter{entry: e, ttl: r.TTL, heard: time.Now(), tell: func(held *driver.Held) context.Context {
			ctx = wait(held)
			return ctx
		}}
		err := w.wait(ctx)
		if err == nil {
			break
		}
		if !errors.Is(err, errRejoin) || !e.gone(ctx) {
			w.reportHolder(ctx)
			return driver.Grant{}, e.leave(ctx, err)
		}
		e = nil
	}
	if e.sent.Before(began) && !e.session.provenSince(began) {
		if err := e.session.check(ctx, e.path); err != nil {
			return driver.Grant{}, e.leave(ctx, err)
		}
	}
	done, err := e.last(ctx, r.TTL)
	if err != nil {
		return driver.Grant{}, e.leave(ctx, err)
	}
	return e.grant(r.TTL, done), nil
}

// stand puts an entry into the queue, and creates the lock's node first if it is missing. If this process does not know
// that the lock's node exists, stand looks it up first. An attempt that fails because the node is missing would cost a
// commit too.
func (b *Backend) stand(ctx context.Context, s *session, r driver.Request) (*entry, error) {
	if r.Shared {
		return b.standShared(ctx, s, r)
	}
	b.mu.Lock()
	_, known := b.versions.get(r.Key)
	b.mu.Unlock()
	if !known {
		_, err := b.look(ctx, s, r.Key)
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
		e := b.enter(s, r, admission{version: -1})
		if err := e.wait(ctx); !errors.Is(err, zk.ErrNoNode) {
			return e, nil
		}
		if err := b.make(ctx, s, r.Key); err != nil {
			return nil, ofRead(err)
		}
	}
}

// leave deletes the entry, even if ctx has ended. It returns err, marked as not applied if the entry is certainly
// deleted.
func (e *entry) leave(ctx context.Context, err error) error {
	const limit = time.Second
	inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	removal := e.remove("")
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
	case <-inner.Done(): // the node may exist, even if err is marked as not applied
		return oneline.Join(ctx.Err(), fmt.Errorf("zklock: the node in the queue was not deleted: %v", err)) //nolint:errorlint // see above
	}
}
