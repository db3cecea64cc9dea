package zklock

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// view is the part of the queue that a waiter has read and watches.
type view struct {
	last    *watch  // the last node that the entry must wait for; nil if there is none
	further *watch  // another node whose deletion lets the entry read the queue again; nil if there is none
	mine    *watch  // the entry's own node; nil unless the deletion of the node last grants the entry the lock
	holder  *watch  // last or further, if one of them is the holder's node; otherwise nil
	queue   []place // the queue that the view shows
}

// look reads the queue, and retries until it succeeds.
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

// view watches the last two nodes that the entry must wait for. When the farther of these nodes is deleted, the nearer
// one holds the lock. That leaves time to read the queue again, and to watch the entry's own node.
//
// A share may have to wait for readers of an earlier epoch alone, because the writer between them has given up. If the
// queue has no other writer, the share can join their epoch. Otherwise it waits, and also watches that writer.
func (e *entry) view(q []place) (v view, err error) {
	ahead, err := e.ahead(q)
	if err != nil || len(ahead) == 0 {
		return v, err
	}
	v.queue = q
	container, holder := e.store.container(e.key), q[lead(q)]
	watched := func(p place) *watch {
		w := e.session.watch(container + "/" + p.node)
		if p == holder {
			v.holder = w
		}
		return w
	}
	last := len(ahead) - 1
	v.last = watched(ahead[last])
	closing := firstClosing(q)
	switch {
	case e.epoch != 0 && firstClosing(ahead) < 0 && closing < 0:
		return v, errRejoin
	case e.epoch != 0 && firstClosing(ahead) < 0:
		v.further = watched(q[closing])
	case last > 0:
		v.further = watched(ahead[last-1])
	default:
		v.mine = e.session.watch(e.path)
	}
	return v, nil
}

// queue lists the queue that contains the entry. It also notes whether the lock has a tick.
func (e *entry) queue(ctx context.Context) ([]place, error) {
	seen, err := e.store.look(ctx, e.session, e.key)
	if errors.Is(err, zk.ErrNoNode) { // the servers remove a node without children
		return nil, driver.NotApplied(errPlaceLost)
	}
	if err != nil {
		return nil, err
	}
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	e.ticked = seen.ticked
	return seen.queue, nil
}
