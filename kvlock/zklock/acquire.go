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

// Acquire makes one attempt. It never overtakes waiters, and puts no node into the queue unless it is granted the lock.
// To ensure this, it creates its node on the condition that no other node was created since the queue was seen empty.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return onSession(ctx, r, b.attempt)
}

// onSession calls the function acquire. If that function fails because its session had already ended, onSession retries
// once on a new session.
func onSession(ctx context.Context, r driver.Request, acquire func(context.Context, driver.Request) (driver.Grant, error)) (driver.Grant, error) {
	g, err := acquire(ctx, r)
	if overBefore(err) {
		return acquire(ctx, r)
	}
	return g, err
}

func (b *Backend) attempt(ctx context.Context, r driver.Request) (driver.Grant, error) {
	began := time.Now()
	s, e, end, err := b.begin(ctx, r)
	if err != nil {
		return driver.Grant{}, err
	}
	defer end()
	const tries = 20
	for range tries {
		if e == nil {
			a, err := b.free(ctx, s, r)
			if err != nil {
				return driver.Grant{}, ofRead(err)
			}
			if err := s.await(ctx); err != nil {
				return driver.Grant{}, err
			}
			e = b.enter(s, r, a)
		}
		switch err := e.wait(ctx); {
		case err == nil:
			return b.settle(ctx, e, r, began)
		case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNoNode): // the state of the lock has changed since it was read: another request was faster, a reader has released its share, or the servers have removed the empty lock's node
			b.mu.Lock()
			b.versions.remove(r.Key)
			b.mu.Unlock()
			e = nil
		default:
			return driver.Grant{}, classify(err)
		}
	}
	return driver.Grant{}, &driver.Held{Reason: driver.Contended}
}

// begin refuses requests with options that ZooKeeper cannot keep. Otherwise it reserves the nonce until the caller
// calls the function end. If an earlier request of the same nonce has left an entry, the method returns that entry and
// its session.
func (b *Backend) begin(ctx context.Context, r driver.Request) (s *session, e *entry, end func(), err error) {
	switch {
	case b.err != nil:
		return nil, nil, nil, driver.Permanent(b.err)
	case r.MinHold > 0:
		return nil, nil, nil, cannotKeep("MinHold")
	case r.HandoverDelay > 0:
		return nil, nil, nil, cannotKeep("HandoverDelay")
	case ctx.Err() != nil:
		return nil, nil, nil, driver.NotApplied(ctx.Err())
	}
	b.mu.Lock()
	if b.busy[r.Nonce] {
		b.mu.Unlock()
		return nil, nil, nil, driver.NotApplied(errBusy)
	}
	b.busy[r.Nonce] = true
	e = b.entries[r.Nonce]
	b.mu.Unlock()
	end = func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.busy, r.Nonce)
	}
	if e, err = b.earlier(ctx, r, e); err == nil {
		if e != nil {
			return e.session, e, end, nil
		}
		s, err = b.session(r.TTL)
	}
	if err != nil {
		end()
		return nil, nil, nil, err
	}
	return s, nil, end, nil
}

func cannotKeep(option string) error {
	return driver.Permanent(fmt.Errorf("zklock: %s is not supported: a lock in ZooKeeper is free as soon as its node is deleted, so ZooKeeper cannot delay the next grant", option))
}

// earlier returns e, the entry of an earlier request, if r can use it, and nil otherwise. If e is being deleted, the
// method waits for the deletion. If the session of e has ended, the method forgets e.
func (b *Backend) earlier(ctx context.Context, r driver.Request, e *entry) (*entry, error) {
	if e == nil {
		return nil, nil
	}
	if e.session.ctx.Err() != nil {
		e.forget()
		return nil, nil
	}
	if e.key != r.Key || e.shared != r.Shared {
		return nil, driver.Permanent(fmt.Errorf("zklock: the nonce %s is in use for %q", r.Nonce, e.key))
	}
	removal := e.leaving()
	if removal == nil {
		return e, nil
	}
	select {
	case <-removal.done:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// settle makes a grant of an entry that has a node. If an earlier request created the node, the method first proves
// that the node still exists. If another entry is before e, or if the servers do not answer, the method deletes the
// entry. If a request of settle was not sent, settle must not return the error of that request: it is marked as not
// applied, and the caller would conclude that the entry's node does not exist.
func (b *Backend) settle(ctx context.Context, e *entry, r driver.Request, began time.Time) (driver.Grant, error) {
	if !e.first {
		if err := b.turn(ctx, e, r.Key); err != nil {
			return driver.Grant{}, e.leave(ctx, err)
		}
	}
	if e.sent.Before(began) && !e.session.provenSince(began) {
		if err := e.session.check(ctx, e.path); err != nil {
			if errors.Is(err, zk.ErrNoNode) {
				e.forget()
				return driver.Grant{}, driver.NotApplied(errPlaceLost)
			}
			return driver.Grant{}, e.leave(ctx, err)
		}
	}
	done, err := e.last(ctx, r.TTL)
	if err != nil {
		return driver.Grant{}, e.leave(ctx, err)
	}
	return e.grant(r.TTL, done), nil
}

// turn returns nil if e is first in the queue, and a refusal if another entry is before e.
func (b *Backend) turn(ctx context.Context, e *entry, key driver.Key) error {
	q, err := e.queue(ctx)
	if err != nil {
		return err
	}
	ahead, err := e.ahead(q)
	if err != nil {
		e.forget()
	}
	if err != nil || len(ahead) == 0 {
		return err
	}
	held, err := b.refusal(ctx, e.session, key, q)
	if held == nil {
		held = &driver.Held{Reason: driver.Contended}
	}
	return oneline.Join(held, err)
}

// ahead returns the nodes in the queue q that e must wait for. The queue may contain a second node with the same
// nonce, from an earlier session that this process no longer trusts, but that the servers have not ended yet. That
// node does not belong to e, because it ends with the earlier session.
func (e *entry) ahead(q []place) ([]place, error) {
	container := e.store.container(e.key) + "/"
	for i, p := range q {
		if container+p.node == e.path {
			return blockers(q, i), nil
		}
	}
	return nil, driver.NotApplied(errPlaceLost)
}
