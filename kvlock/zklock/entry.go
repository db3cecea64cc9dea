package zklock

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// entry is one acquisition on one session: the node that was asked for, that stands in a queue or is
// held, or that is to go. Requests for it are made by goroutines of its own, which end when it is
// known what became of them, or with the session. So a caller may leave at any time, and whoever asks
// for the same acquisition again waits for the same request.
type entry struct {
	store   *store
	session *session
	key     driver.Key
	nonce   driver.Nonce
	shared  bool

	created chan struct{} // closed when it is known what became of the request to create it

	// To be read once created is closed.
	err     error        // why there is no node
	path    string       // of the node; empty if there is none
	token   driver.Token // the transaction that created it
	version int32        // of the lock's node with it
	sent    time.Time    // before the request was sent; zero if its reply was lost
	first   bool         // nobody stood before it

	// Guarded by store.mu.
	granted bool
	removal *removal // nil unless it is to go
}

// enter asks for a node at the end of the queue, if the lock's node has been written version times:
// every acquisition writes it, to learn its token. Minus one is any number.
func (s *store) enter(open *session, r driver.Request, shared bool, version int32) *entry {
	e := &entry{store: s, session: open, key: r.Key, nonce: r.Nonce, shared: shared, created: make(chan struct{})}
	s.mu.Lock()
	s.entries[r.Nonce] = e
	s.mu.Unlock()
	go e.create(value{Holder: r.Holder, Note: r.Note}.String(), version)
	return e
}

func (e *entry) create(data string, version int32) {
	defer close(e.created)
	container, mark := e.store.container(e.key), alone
	if e.shared {
		mark = sharing
	}
	answered := e.session.watchdog()
	sent := time.Now()
	results, err := e.session.conn.Multi(
		&zk.CreateRequest{Path: container + "/" + protected + e.nonce.String() + mark, Data: []byte(data), Acl: e.store.acl, Flags: zk.FlagEphemeralSequential},
		&zk.SetDataRequest{Path: container, Version: version},
	)
	answered()
	e.session.heed(err)
	switch {
	case err == nil:
		// Both are one transaction: the children are counted, and the writing is numbered, as it leaves them.
		parent := results[1].Stat
		e.path, e.token, e.sent, e.first = results[0].String, driver.Token(parent.Mzxid), sent, parent.NumChildren == 1
		e.version = parent.Version
		e.session.prove(sent)
	case ambiguous(err):
		e.err = e.find(container)
	default:
		e.err = err
	}
	if e.err != nil {
		e.forget()
	}
}

// forget drops what is known of e.
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

// grant makes a grant of e, which stands first.
func (e *entry) grant(ttl time.Duration) driver.Grant {
	e.store.mu.Lock()
	before := e.granted
	e.granted = true
	e.store.mu.Unlock()
	if !before {
		e.session.keep(1)
	}
	return driver.Grant{Key: e.key, Nonce: e.nonce, Token: e.token, TTL: e.session.trust(ttl)}
}

// leaving says whether e is to go.
func (e *entry) leaving() *removal {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	return e.removal
}

// wait returns once it is known what became of the request for e, or when ctx ends.
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
