package etcdlock

import (
	"context"

	"github.com/rowlock/rowlock/driver"
)

// entry is one acquisition of this process, and its key in the queue. It is recorded from before its first request until
// its key certainly does not exist.
type entry struct {
	session *session
	key     driver.Key
	nonce   driver.Nonce
	shared  bool
	path    string // the key in etcd

	ctx context.Context // ends when the session ends, or when a forced release of only this lock is reported
	end context.CancelCauseFunc

	// Guarded by Backend.mu.
	running bool // an Acquire or Await of this nonce is running
	hold
}

// hold is what an entry knows of its grant.
type hold struct {
	token    driver.Token // zero until the lock is granted
	revision int64        // the key's create revision; the token of a share may be the revision of another reader's key
	leaving  bool         // a deletion of the key got no answer, and etcd may execute it late
}

// enter returns the entry for request r, on a session that lives for the TTL of r. A repeated request gets the entry of
// the earlier request, which may have put the key. But if etcd may still delete that key, the request gets a new entry.
func (b *Backend) enter(ctx context.Context, r driver.Request) (*entry, error) {
	if e := b.again(r); e != nil {
		err := b.ensure(ctx, e.session, min(r.TTL, e.session.ttl))
		if err == nil || e.session.ctx.Err() == nil {
			return e, err
		}
	}
	s, err := b.session(ctx, r.TTL)
	if err != nil {
		return nil, err
	}
	return b.enlist(r, s), nil
}

// again returns the entry of an earlier request of the same nonce, or nil. It returns nil if etcd may still delete the
// key.
func (b *Backend) again(r driver.Request) *entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.find(driver.Grant{Key: r.Key, Nonce: r.Nonce, Shared: r.Shared})
	if e == nil || e.leaving {
		return nil
	}
	e.running = true
	return e
}

// enlist records a new entry for request r on session s. The entry gets the first unused key of the session.
func (b *Backend) enlist(r driver.Request, s *session) *entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	for number := 0; ; number++ {
		path := b.path(r, s, number)
		if _, used := s.entries[path]; !used {
			e := &entry{session: s, key: r.Key, nonce: r.Nonce, shared: r.Shared, path: path, running: true}
			e.ctx, e.end = context.WithCancelCause(context.Background())
			s.entries[path], b.entries[r.Nonce] = e, e
			return e
		}
	}
}

// leaves records that a deletion of the key of e got no answer.
func (b *Backend) leaves(e *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.leaving, e.session.doubted = true, true
}

// rest records that no Acquire or Await of a nonce is running any more.
func (b *Backend) rest(nonce driver.Nonce) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.entries[nonce]; e != nil {
		e.running = false
	}
}

// forget removes the record of an entry whose key does not exist. If the session is doubted, a late request may still
// put the key of an entry that was not granted. The record then stays, so that a retry finds the key.
func (b *Backend) forget(e *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.token != 0 || !e.session.doubted {
		b.strike(e)
	}
}

// strike removes the record of an entry. A doubted session does not use the key again. The caller holds mu.
func (b *Backend) strike(e *entry) {
	if b.entries[e.nonce] == e {
		delete(b.entries, e.nonce)
	}
	switch {
	case e.session.entries[e.path] != e:
	case e.session.doubted:
		e.session.entries[e.path] = nil
	default:
		delete(e.session.entries, e.path)
	}
}

// grant records that an entry holds the lock. The parameter revision is the create revision of the entry's key.
func (b *Backend) grant(e *entry, r driver.Request, token driver.Token, revision int64, last tick) driver.Grant {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.token, e.revision = token, revision
	b.guard(e.session)
	return driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: token, TTL: min(r.TTL, e.session.ttl), Shared: r.Shared, Done: last.Done, Session: e.ctx}
}

// held returns the entry of g, or nil if g is not a current grant of b.
func (b *Backend) held(g driver.Grant) (*entry, hold) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.find(g); e != nil {
		return e, e.hold
	}
	return nil, hold{}
}

// find returns the entry of g, or nil. If g has no token, find accepts any entry of its nonce. The caller holds mu.
func (b *Backend) find(g driver.Grant) *entry {
	e := b.entries[g.Nonce]
	if e == nil || e.key != g.Key || e.shared != g.Shared || g.Token != 0 && e.token != g.Token {
		return nil
	}
	return e
}
