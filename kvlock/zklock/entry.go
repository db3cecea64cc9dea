package zklock

import (
	"context"
	"errors"
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

// removal is the end of an entry.
type removal struct {
	done chan struct{}
	err  error // driver.ErrNotHeld if there was no node; to be read once done is closed
}

type ended struct {
	nonce driver.Nonce
	token driver.Token
}

// enter asks for a node at the end of the queue, if the lock's node has been written version times:
// every acquisition writes it, to learn its token. Minus one is any number.
func (s *store) enter(open *session, r driver.Request, shared bool, version int32) *entry {
	e := &entry{store: s, session: open, key: r.Key, nonce: r.Nonce, shared: shared, created: make(chan struct{})}
	s.mu.Lock()
	s.entries[r.Nonce] = e
	s.mu.Unlock()
	go e.create(value{r.Holder, r.Note}.String(), version)
	return e
}

func (e *entry) create(data string, version int32) {
	defer close(e.created)
	container, mark := e.store.container(e.key), alone
	if e.shared {
		mark = sharing
	}
	impatience := e.session.watchdog()
	sent := time.Now()
	results, err := e.session.conn.Multi(
		&zk.CreateRequest{Path: container + "/" + protected + e.nonce.String() + mark, Data: []byte(data), Acl: e.store.acl, Flags: zk.FlagEphemeralSequential},
		&zk.SetDataRequest{Path: container, Version: version},
	)
	impatience.Stop()
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

// find looks for the node of a request whose reply was lost. On a new connection of the same session
// nothing that was sent before can come later, and after a sync nothing that came is missing.
func (e *entry) find(container string) error {
	s := e.session
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		if err := s.await(s.ctx); err != nil {
			return err
		}
		impatience := s.watchdog()
		path, stat, err := e.search(container)
		impatience.Stop()
		switch {
		case err == nil:
			e.path, e.token = path, driver.Token(stat.Czxid)
			return nil
		case errors.Is(err, zk.ErrNoNode):
			return driver.NotApplied(errNotCreated)
		case isAny(err, refusedFor):
			return err
		}
		sleep(s.ctx, pause)
	}
}

// search finds e's node by its nonce; zk.ErrNoNode if there is none.
func (e *entry) search(container string) (string, *zk.Stat, error) {
	children, err := synced(e.session.conn, container)
	if err != nil {
		return "", nil, err
	}
	for _, p := range queue(children) {
		if p.nonce == e.nonce {
			path := container + "/" + p.node
			_, stat, err := e.session.conn.Get(path)
			return path, stat, err
		}
	}
	return "", nil, zk.ErrNoNode
}

// synced lists the children of a node as the leader knows them.
func synced(c *zk.Conn, path string) ([]string, error) {
	if _, err := c.Sync(path); err != nil {
		return nil, err
	}
	children, _, err := c.Children(path)
	return children, err
}

// remove has the entry's node deleted, in the background and until that is certain.
func (e *entry) remove() *removal {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	if e.removal == nil {
		e.removal = &removal{done: make(chan struct{})}
		go e.delete(e.removal)
	}
	return e.removal
}

func (e *entry) delete(r *removal) {
	defer close(r.done)
	<-e.created
	r.err = e.deleteNode()
	e.store.mu.Lock()
	if r.err == nil {
		e.store.released.put(ended{e.nonce, e.token}, struct{}{})
		if e.granted && !e.shared { // nobody is there now, unless he came after
			e.store.versions.put(e.key, e.version)
		}
	}
	if driver.IsPermanent(r.err) { // it is still there, and may be asked for again
		e.removal = nil
	}
	e.store.mu.Unlock()
	if !driver.IsPermanent(r.err) {
		e.forget()
	}
}

func (e *entry) deleteNode() error {
	if e.path == "" {
		return driver.ErrNotHeld
	}
	s, lost := e.session, false
	for {
		impatience := s.watchdog()
		err := s.conn.Delete(e.path, -1)
		impatience.Stop()
		switch {
		case err == nil, errors.Is(err, zk.ErrNoNode) && lost: // that was us
			return nil
		case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrSessionExpired), s.ctx.Err() != nil:
			return driver.ErrNotHeld
		case isAny(err, refusedFor):
			return driver.Permanent(err)
		}
		lost = lost || ambiguous(err)
		sleep(s.ctx, 10*time.Millisecond)
		if s.await(s.ctx) != nil {
			return driver.ErrNotHeld
		}
	}
}

// forget drops what is known of e.
func (e *entry) forget() {
	e.store.mu.Lock()
	known := e.store.entries[e.nonce] == e
	if known {
		delete(e.store.entries, e.nonce)
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
