package zklock

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// view is what a waiter has seen of the queue, and watches.
type view struct {
	last    *watch // the last one that the entry must wait for; nil if there is none
	further *watch // the one before that; nil if last is the only one
	mine    *watch // the entry's own node, if last is the only one: then its turn was before ours
	holder  *watch // last or further, if it is the first of the queue
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
