package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// Acquire makes one attempt. It never overtakes waiters, and puts no node into the queue unless it is granted the lock.
// To ensure this, it creates its node on the condition that no other node was created since the queue was seen empty.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return again(func() (driver.Grant, error) { return b.acquire(ctx, r, nil) })
}

// Await implements [driver.Awaiter]. It puts a node at the end of the queue. If the queue was empty, the lock is
// granted. Otherwise Await calls the function wait, and waits until the node before its own is deleted. Await gives up
// when the context that wait returned ends, or when the servers have not answered for r.TTL. It then deletes its node.
func (b *Backend) Await(ctx context.Context, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, error) {
	return again(func() (driver.Grant, error) { return b.acquire(ctx, r, wait) })
}

// acquire creates a node, and waits for the lock. If the parameter wait is nil, it makes one attempt and does not wait.
func (b *Backend) acquire(ctx context.Context, r driver.Request, wait func(*driver.Held) context.Context) (driver.Grant, error) {
	began := time.Now()
	s, e, err := b.begin(ctx, r)
	if err != nil {
		return driver.Grant{}, err
	}
	const tries = 20
	for range tries {
		if e == nil {
			a, err := b.admit(ctx, s, r, wait != nil)
			if err == nil {
				err = s.await(ctx)
			}
			if err != nil {
				return driver.Grant{}, ofRead(err)
			}
			e = b.enter(s, r, a)
		}
		err = e.wait(ctx)
		switch {
		case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNoNode):
			// The state of the lock has changed since it was read: another request was faster, an entry has left the queue,
			// or the servers have removed the empty lock's node.
			b.mu.Lock()
			b.versions.Remove(r.Key)
			b.mu.Unlock()
			e = nil
			continue
		case err != nil && wait == nil: // a repeated attempt of the same nonce continues with the entry
			return driver.Grant{}, classify(err)
		case err == nil && !e.first:
			w := &waiter{entry: e}
			if wait != nil {
				w.tell = func(held *driver.Held) context.Context {
					ctx = wait(held)
					return ctx
				}
			}
			err = w.wait(ctx)
		}
		if err == nil {
			return e.grant(ctx, r.TTL, began)
		}
		err = e.leave(ctx, err)
		if !errors.Is(err, errRejoin) || !driver.IsNotApplied(err) {
			return driver.Grant{}, err
		}
		e = nil
	}
	return driver.Grant{}, &driver.Held{Reason: driver.Contended}
}

// begin refuses requests with options that ZooKeeper cannot keep. If an earlier request of the same nonce has left an
// entry that r can use, the method returns that entry and its session. Otherwise it returns a session for a new entry.
func (b *Backend) begin(ctx context.Context, r driver.Request) (*session, *entry, error) {
	switch {
	case r.MinHold > 0:
		return nil, nil, cannotKeep("MinHold")
	case r.HandoverDelay > 0:
		return nil, nil, cannotKeep("HandoverDelay")
	case ctx.Err() != nil:
		return nil, nil, driver.NotApplied(ctx.Err())
	}
	b.mu.Lock()
	e := b.entries[r.Nonce]
	var leaving *removal
	if e != nil {
		leaving = e.removal
	}
	b.mu.Unlock()
	switch {
	case e == nil:
	case e.session.ctx.Err() != nil:
		e.forget()
	case e.Key != r.Key || e.Shared != r.Shared:
		return nil, nil, driver.Permanent(fmt.Errorf("zklock: the nonce %s is in use for %q", r.Nonce, e.Key))
	case leaving == nil:
		return e.session, e, nil
	default:
		select {
		case <-leaving.done:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	s, err := b.session(r.TTL)
	return s, nil, err
}

func cannotKeep(option string) error {
	return driver.Permanent(fmt.Errorf("zklock: %s is not supported: a lock in ZooKeeper is free as soon as its node is deleted, so ZooKeeper cannot delay the next grant", option))
}

// grant makes a grant of e, which no other entry blocks. If an earlier call sent the request for the node, the method
// first proves that the node still exists, because the TTL starts again. If the servers do not answer, it deletes the
// entry.
func (e *entry) grant(ctx context.Context, ttl time.Duration, began time.Time) (driver.Grant, error) {
	if e.sent.Before(began) {
		_, err := ask(ctx, e.session, func(c *zk.Conn) ([]zk.MultiResponse, error) { return c.Multi(existence(e.path)) })
		if err != nil {
			return driver.Grant{}, e.leave(ctx, err)
		}
	}
	done, err := e.last(ctx, ttl)
	if err != nil {
		return driver.Grant{}, e.leave(ctx, err)
	}
	e.granted.Store(true)
	e.session.keep(time.Now())
	return driver.Grant{Key: e.Key, Nonce: e.Nonce, Token: e.token, TTL: e.session.trust(ttl), Shared: e.Shared, Done: done, Session: e.session.ctx}, nil
}

// admit reads the lock, and returns the state on which the request's node depends. If the lock's node is missing, admit
// creates it. If the parameter waits is false, admit refuses a request that an entry blocks. A writer that waits needs
// only to know that the lock's node exists: a request that fails because the node is missing would cost a commit too.
func (b *Backend) admit(ctx context.Context, s *session, r driver.Request, waits bool) (admission, error) {
	b.mu.Lock()
	version, known := b.versions.Get(r.Key)
	b.mu.Unlock()
	switch {
	case !known || r.Shared:
	case waits:
		return admission{version: -1}, nil
	case !r.Waiting:
		// When this process released its last grant, the lock's node had this version. If the version is still current,
		// the queue is empty.
		return admission{version: version}, nil
	}
	for {
		seen, err := b.look(ctx, s, r.Key)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return admission{}, b.make(ctx, s, r.Key)
		case err != nil:
			return admission{}, err
		case waits && !r.Shared:
			return admission{version: -1}, nil
		case len(seen.queue) == 0:
			return admission{version: seen.stat.Version}, nil
		case r.Shared && (waits || firstWriter(seen.queue) < 0):
			return b.join(ctx, s, r.Key, seen)
		}
		// The session's server may be behind the other servers. If it wrongly reports a free lock, that does no harm:
		// the leader checks the version when the node is created. If it reports a held lock, the lock may be free by
		// now. So head, which syncs, must confirm the report.
		h, err := b.head(ctx, s, r.Key)
		switch {
		case err != nil:
			return admission{}, err
		case h.held != nil && !(r.Shared && h.Waiters == 0 && h.Readers > 0):
			return admission{}, h.held
		}
	}
}
