package zklock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/oneline"
)

// entry is one acquisition on one session. It stands for one node, from the request to create the node to its deletion.
// Goroutines of the entry send these two requests. A goroutine ends when the outcome is known, or when the session ends.
// So a caller may return at any time, and a repeated acquisition waits for the same request.
type entry struct {
	driver.Request
	admission

	backend *Backend
	session *session

	created chan struct{} // closed when the outcome of the create request is known

	// These fields are valid once the channel in the field above is closed.
	err   error        // the reason why there is no node
	path  string       // path of the node; empty if there is none
	token driver.Token // id of the transaction that created the node, or the token of the epoch that a share joined
	sent  time.Time    // time just before the request was sent; zero if its reply was lost
	first bool         // no entry blocked this entry when its node was created
	after int32        // version of the lock's node after the transaction that created this entry's node

	granted atomic.Bool
	ticked  atomic.Bool // the last read of the queue showed that the lock has a tick
	removal *removal    // nil unless the entry is being deleted; guarded by the backend's mu
}

// removal is the deletion of an entry.
type removal struct {
	done chan struct{}
	err  error // driver.ErrNotHeld if there was no node; valid once done is closed
}

// enter requests a node at the end of the queue. The servers create the node only if the lock is still in the state a.
func (b *Backend) enter(s *session, r driver.Request, a admission) *entry {
	e := &entry{Request: r, admission: a, backend: b, session: s, created: make(chan struct{})}
	e.ticked.Store(a.ticked)
	b.mu.Lock()
	b.entries[r.Nonce] = e
	b.mu.Unlock()
	go e.create()
	return e
}

func (e *entry) create() {
	defer close(e.created)
	container := e.backend.container(e.Key)
	ops := []any{
		&zk.CreateRequest{Path: container + "/" + e.nodeName(), Data: node{Holder: e.Holder, Note: e.Note}.encode(), Acl: e.backend.acl, Flags: zk.FlagEphemeralSequential},
	}
	if e.epoch == 0 {
		// The reply to this write contains the token.
		ops = append(ops, &zk.SetDataRequest{Path: container, Version: e.version})
	} else {
		ops = append(ops, &zk.CheckVersionRequest{Path: container, Version: e.version}, existence(e.beside))
	}
	sent := time.Now()
	results, err := e.multi(ops...)
	switch {
	case err == nil && e.epoch != 0:
		e.path, e.token, e.sent, e.first = results[0].String, e.epoch, sent, e.joins
	case err == nil:
		// One transaction created the new node and wrote its parent. So the parent's number of children and transaction
		// id include the new node.
		parent := results[1].Stat
		e.path, e.token, e.sent, e.first = results[0].String, driver.Token(parent.Mzxid), sent, parent.NumChildren == 1
		e.after = parent.Version
	case ambiguous(err):
		e.err = e.find(container)
		e.first = e.joins
	default:
		e.err = err
	}
	if e.err != nil {
		e.forget()
	}
}

func (e *entry) multi(ops ...any) ([]zk.MultiResponse, error) {
	return call(e.session, func(c *zk.Conn) ([]zk.MultiResponse, error) { return c.Multi(ops...) })
}

// find looks for the node of a request whose reply was lost. It uses a new connection of the same session, so the lost
// request cannot arrive after the search. It first makes the leader commit a request, so that the search sees the
// result of every earlier request. A sync is not enough: a deposed leader that does not know of its deposition answers a
// sync alone.
func (e *entry) find(container string) error {
	s := e.session
	for delay := 10 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		_, err := ask(s.ctx, s, func(c *zk.Conn) ([]zk.MultiResponse, error) { return c.Multi(existence(container)) })
		if err == nil {
			err = e.search(container)
		}
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return driver.NotApplied(errNotCreated)
		case err == nil, isAny(err, refusedFor):
			return err
		case !backoff.Sleep(s.ctx, delay):
			return s.over()
		}
	}
}

// search finds the node of e by its nonce and its session. It returns zk.ErrNoNode if there is no such node. It
// compares the session, because an earlier session of this process may have left another node with the same nonce.
func (e *entry) search(container string) error {
	s := e.session
	seen, err := e.backend.look(s.ctx, s, e.Key)
	if err != nil {
		return err
	}
	for _, p := range seen.queue {
		if p.nonce != e.Nonce {
			continue
		}
		path := container + "/" + p.node
		switch n, err := e.backend.read(s.ctx, s, path); {
		case err == nil && n.session == s.conn.SessionID():
			e.path, e.token = path, n.Token
			return nil
		case err != nil && !errors.Is(err, zk.ErrNoNode):
			return err
		}
	}
	return zk.ErrNoNode
}

// wait waits until the outcome of the request to create e's node is known. It also returns when the session or ctx
// ends.
func (e *entry) wait(ctx context.Context) error {
	select {
	case <-e.created:
		return e.err
	case <-e.session.ctx.Done():
		return e.session.over()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// queue lists the queue that contains the entry, and the nodes in it that the entry must wait for. It also notes
// whether the lock has a tick.
func (e *entry) queue(ctx context.Context) (q, ahead []place, err error) {
	seen, err := e.backend.look(ctx, e.session, e.Key)
	if err != nil && !errors.Is(err, zk.ErrNoNode) { // the servers remove a node without children
		return nil, nil, err
	}
	e.ticked.Store(seen.ticked)
	// The comparison is by path. The queue may contain a second node with the same nonce, of an earlier session that has
	// ended here, but not on the servers yet. That node does not belong to e.
	for i, p := range seen.queue {
		if e.backend.container(e.Key)+"/"+p.node == e.path {
			return seen.queue, blockers(seen.queue, i), nil
		}
	}
	e.forget()
	return nil, nil, driver.NotApplied(errPlaceLost)
}

// is reports whether e is the entry of the grant g. If g has no token, only the key and the nonce must be the same.
func (e *entry) is(g driver.Grant) bool {
	return e.Key == g.Key && e.Nonce == g.Nonce && (g.Token == 0 || e.stands() && e.token == g.Token)
}

// stands reports whether the node of e is known to have been created.
func (e *entry) stands() bool {
	select {
	case <-e.created:
		return e.path != ""
	default:
		return false
	}
}

// forget removes e from the backend's entries.
func (e *entry) forget() {
	e.backend.mu.Lock()
	defer e.backend.mu.Unlock()
	if e.backend.entries[e.Nonce] == e {
		delete(e.backend.entries, e.Nonce)
	}
}

// remove starts to delete the entry's node, and retries in the background until it is certainly deleted. If the
// parameter done is not empty, it is a tick, which remove also records.
func (e *entry) remove(done string) *removal {
	e.backend.mu.Lock()
	defer e.backend.mu.Unlock()
	if e.removal == nil {
		e.removal = &removal{done: make(chan struct{})}
		go e.delete(e.removal, done)
	}
	return e.removal
}

func (e *entry) delete(r *removal, done string) {
	defer close(r.done)
	<-e.created
	r.err = e.deleteNode(done)
	b := e.backend
	b.mu.Lock()
	switch {
	case r.err == nil:
		b.ended.Put(ending{e.Nonce, e.token}, struct{}{})
		if e.granted.Load() && !e.Shared { // the queue is now empty, unless there was a later request
			b.versions.Put(e.Key, e.after)
		}
	case driver.IsPermanent(r.err): // the node still exists, so a later call may start the deletion again
		e.removal = nil
	}
	b.mu.Unlock()
	if !driver.IsPermanent(r.err) {
		e.forget()
	}
}

func (e *entry) deleteNode(done string) error {
	if e.path == "" {
		return driver.ErrNotHeld
	}
	s, lost := e.session, false
	for s.await(s.ctx) == nil {
		err := e.deleteOnce(done)
		switch {
		case errors.Is(err, zk.ErrNoNode) && lost && done != "":
			return e.hasRecorded()
		case err == nil, errors.Is(err, zk.ErrNoNode) && lost: // an earlier attempt, whose reply was lost, deleted the node
			return nil
		case errors.Is(err, zk.ErrNoNode):
			return driver.ErrNotHeld
		case isAny(err, refusedFor):
			return driver.Permanent(err)
		}
		lost = lost || ambiguous(err)
		backoff.Sleep(s.ctx, 10*time.Millisecond)
	}
	if lost && done != "" { // a request without a reply may have recorded the tick
		return errUnrecorded
	}
	return driver.ErrNotHeld
}

// leave deletes the entry, even if ctx has ended. It returns err, marked as not applied if the entry is certainly
// deleted.
func (e *entry) leave(ctx context.Context, err error) error {
	const limit = time.Second
	inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	removal := e.remove("")
	select {
	case <-removal.done:
	case <-inner.Done(): // the node may exist, even if err is marked as not applied
		return oneline.Join(ctx.Err(), fmt.Errorf("zklock: the node in the queue was not deleted: %v", err)) //nolint:errorlint // see above
	}
	var held *driver.Held
	switch {
	case driver.IsPermanent(removal.err):
		return removal.err
	case e.session.ctx.Err() != nil && e.stands():
		return driver.NotApplied(oneline.Join(errPlaceLost, err))
	case errors.As(err, &held):
		return err
	}
	return ofRead(err)
}
