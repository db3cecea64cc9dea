package zklock

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// entry is one acquisition on one session. It stands for one node, from the request to create the node to its deletion.
// Goroutines of the entry send its requests. A goroutine ends when the outcome is known, or when the session ends. So a
// caller may return at any time, and a repeated acquisition waits for the same request.
type entry struct {
	store   *store
	session *session
	key     driver.Key
	nonce   driver.Nonce
	shared  bool
	admission

	created chan struct{} // closed when the outcome of the create request is known

	// These fields are valid once the channel in the field above is closed.
	err   error        // the reason why there is no node
	path  string       // path of the node; empty if there is none
	token driver.Token // id of the transaction that created the node, or the token of the epoch that a share joined
	sent  time.Time    // time just before the request was sent; zero if its reply was lost
	first bool         // no entry blocked this entry when its node was created
	after int32        // version of the lock's node after the transaction that created this entry's node

	// Guarded by store.mu.
	granted bool
	ticked  bool     // the last read of the queue showed that the lock has a tick
	removal *removal // nil unless the entry is being deleted
}

// enter requests a node at the end of the queue. The servers create the node only if the lock is still in the state a.
func (s *store) enter(open *session, r driver.Request, a admission) *entry {
	e := &entry{store: s, session: open, key: r.Key, nonce: r.Nonce, shared: r.Shared, admission: a, ticked: a.ticked, created: make(chan struct{})}
	s.mu.Lock()
	s.entries[r.Nonce] = e
	s.mu.Unlock()
	go e.create(value{Holder: r.Holder, Note: r.Note}.String())
	return e
}

func (e *entry) create(data string) {
	defer close(e.created)
	container := e.store.container(e.key)
	ops := []any{
		&zk.CreateRequest{Path: container + "/" + e.nodeName(), Data: []byte(data), Acl: e.store.acl, Flags: zk.FlagEphemeralSequential},
	}
	if e.epoch == 0 {
		// The reply to this write contains the token.
		ops = append(ops, &zk.SetDataRequest{Path: container, Version: e.version})
	} else {
		ops = append(ops, &zk.CheckVersionRequest{Path: container, Version: e.version}, existence(e.beside))
	}
	answered := e.session.watchdog()
	sent := time.Now()
	results, err := e.session.conn.Multi(ops...)
	answered()
	e.session.noteExpiry(err)
	switch {
	case err == nil && e.epoch != 0:
		e.path, e.token, e.sent, e.first = results[0].String, e.epoch, sent, e.joins
		e.session.prove(sent)
	case err == nil:
		// One transaction created the new node and wrote its parent. So the parent's number of children and transaction
		// id include the new node.
		parent := results[1].Stat
		e.path, e.token, e.sent, e.first = results[0].String, driver.Token(parent.Mzxid), sent, parent.NumChildren == 1
		e.after = parent.Version
		e.session.prove(sent)
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

// forget removes e from the store's entries. If e was granted, it no longer counts as held.
func (e *entry) forget() {
	e.store.mu.Lock()
	known := e.store.entries[e.nonce] == e
	if known {
		delete(e.store.entries, e.nonce)
		e.session.used = time.Now()
	}
	wasGranted := e.granted
	e.granted = false
	e.store.mu.Unlock()
	if wasGranted {
		e.session.keep(-1)
	}
}

// grant makes a grant of e. The caller has proven that no other entry blocks e.
func (e *entry) grant(ttl time.Duration, done string) driver.Grant {
	e.store.mu.Lock()
	before := e.granted
	e.granted = true
	e.store.mu.Unlock()
	if !before {
		e.session.keep(1)
	}
	return driver.Grant{Key: e.key, Nonce: e.nonce, Token: e.token, TTL: e.session.trust(ttl), Shared: e.shared, Done: done, Session: e.session.ctx}
}

// leaving returns the removal of e, or nil if e is not being deleted.
func (e *entry) leaving() *removal {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	return e.removal
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
