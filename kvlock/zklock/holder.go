package zklock

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// check checks that the entry's node exists. If the caller of Await does not know the holder yet, the method also reads
// the holder and reports it.
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

// holder describes the holder of the lock. It returns nil if the holder's node was just deleted, or if no entry blocks
// e.
func (e *entry) holder(ctx context.Context) (*driver.Held, error) {
	q, err := e.queue(ctx)
	if err != nil {
		return nil, err
	}
	if ahead, err := e.ahead(q); err != nil || len(ahead) == 0 {
		return nil, err
	}
	return e.store.refusal(ctx, e.session, e.key, q)
}

// reportHolder reports the holder to a caller whose wait failed before the holder was known. It first starts to delete
// the entry, so that the entry does not block other waiters during the read.
func (w *waiter) reportHolder(ctx context.Context) {
	e := w.entry
	if ctx.Err() == nil || !w.begun || w.told || e.session.ctx.Err() != nil {
		return
	}
	const limit = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	e.remove("")
	q, err := e.queue(ctx)
	if err != nil || len(q) == 0 || e.store.container(e.key)+"/"+q[lead(q)].node == e.path {
		return
	}
	if held, err := e.store.refusal(ctx, e.session, e.key, q); err == nil && held != nil {
		w.refused(held)
	}
}
