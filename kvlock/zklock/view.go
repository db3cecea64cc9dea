package zklock

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// view is the part of the queue that a waiter has read and watches.
type view struct {
	last    *watch // the last node that the entry must wait for; nil if there is none
	further *watch // the node before the field last, if the entry must wait for that node, too; otherwise nil
	mine    *watch // the entry's own node; nil unless the field last is the only node that the entry must wait for
	holder  *watch // the field last or further, if its node is the first of the queue
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
