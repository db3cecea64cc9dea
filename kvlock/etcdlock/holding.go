package etcdlock

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// hold records one entry of this process. The entry belongs to a grant, to a running acquisition, or to an acquisition
// whose reply is missing.
type hold struct {
	key      driver.Key
	entry    string
	token    driver.Token // zero until the lock is granted
	revision int64        // the create revision of the granted entry; the token of a share may be the revision of another reader's entry
	session  *session
	shared   bool
	doubted  bool // a request that puts the entry got no answer
	leaving  bool // a release was sent and got no answer

	ctx context.Context // ends when its session ends, or when a forced release of only this entry is reported
	end context.CancelCauseFunc
}

// enlist returns the key for request r on session s. A repeated request keeps its key. A new request gets the first
// unused key.
func (b *Backend) enlist(r driver.Request, s *session) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.holds[r.Nonce]; h != nil && h.session == s && h.key == r.Key && h.shared == r.Shared {
		return h.entry
	}
	for number := 0; ; number++ {
		if entry := b.entry(r, s, number); !s.used[entry] {
			s.used[entry] = true
			h := &hold{key: r.Key, entry: entry, session: s, shared: r.Shared}
			h.ctx, h.end = context.WithCancelCause(context.Background())
			b.holds[r.Nonce] = h
			return entry
		}
	}
}

// enlisted returns the hold of an earlier request of the same nonce, or nil.
func (b *Backend) enlisted(r driver.Request) *hold {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.holds[r.Nonce]; h != nil && h.key == r.Key && h.shared == r.Shared {
		return h
	}
	return nil
}

// forgetAbsent removes the hold of a request whose entry certainly does not exist. It keeps the hold if a late request
// may still put the entry.
func (b *Backend) forgetAbsent(r driver.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.holds[r.Nonce]; h != nil && h.token == 0 && !h.doubted {
		b.unlist(r.Nonce, h)
	}
}

// unlist removes h from the holds. The session can reuse the key of h, unless a late request may still put or delete
// that key. The caller holds mu.
func (b *Backend) unlist(nonce driver.Nonce, h *hold) {
	delete(b.holds, nonce)
	if !h.doubted && !h.leaving {
		delete(h.session.used, h.entry)
	}
}

// hold records a grant, and returns it. The parameter revision is the create revision of the grant's entry.
func (b *Backend) hold(r driver.Request, token driver.Token, revision int64, s *session, last tick) driver.Grant {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: token, TTL: min(r.TTL, s.ttl), Shared: r.Shared, Done: last.Done, Session: s.ctx}
	if h := b.holds[r.Nonce]; h != nil { // nil if the session has just ended
		h.token, h.revision, g.Session = token, revision, h.ctx
		b.guard(s)
	}
	return g
}

// held returns the hold of g, or nil if g is not a current grant of b.
func (b *Backend) held(g driver.Grant) *hold {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.holds[g.Nonce]
	if h == nil || h.key != g.Key || h.token != g.Token || h.shared != g.Shared {
		return nil
	}
	return h
}

// granted returns the comparison that is true while the entry of h exists as it was granted.
func (b *Backend) granted(h *hold) clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(h.entry), "=", b.revision(h))
}

// revision returns the create revision of the granted entry of h.
func (b *Backend) revision(h *hold) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return h.revision
}

// isLeaving reports whether a release of h was sent and got no answer.
func (b *Backend) isLeaving(h *hold) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return h.leaving
}

// find returns the hold of g, as the method held does. But if g has no token, find accepts any hold of its nonce.
func (b *Backend) find(g driver.Grant) *hold {
	if g.Token != 0 {
		return b.held(g)
	}
	return b.enlisted(driver.Request{Key: g.Key, Nonce: g.Nonce, Shared: g.Shared})
}

// forget removes the hold of g. It keeps the hold if g has no token and a late request may still put the entry. The
// hold is then needed to find and delete that entry.
func (b *Backend) forget(g driver.Grant) {
	h := b.find(g)
	b.mu.Lock()
	defer b.mu.Unlock()
	if h != nil && (!h.doubted || g.Token != 0) {
		b.unlist(g.Nonce, h)
	}
}

// forgetOld removes holds whose request got no answer, if their session was not renewed for twice its TTL. The caller
// holds mu.
func (b *Backend) forgetOld() {
	for nonce, h := range b.holds {
		if h.token == 0 && h.doubted && time.Since(h.session.proven) > 2*h.session.ttl {
			delete(b.holds, nonce)
		}
	}
}

// begin reserves a nonce, so that one call at a time works on it. It returns false if the nonce is already reserved.
func (b *Backend) begin(nonce driver.Nonce) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.busy[nonce] {
		return false
	}
	b.busy[nonce] = true
	return true
}

func (b *Backend) done(nonce driver.Nonce) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.busy, nonce)
}

// memory remembers the most recent releases or pauses, so that a repeated release or pause succeeds again.
type memory struct {
	set   map[ended]bool
	order []ended
	next  int
}

type ended struct {
	nonce driver.Nonce
	token driver.Token
}

const remembered = 256

func (m *memory) add(g driver.Grant) {
	e := ended{g.Nonce, g.Token}
	if m.set == nil {
		m.set, m.order = make(map[ended]bool, remembered), make([]ended, remembered)
	}
	if m.set[e] {
		return
	}
	delete(m.set, m.order[m.next])
	m.set[e], m.order[m.next] = true, e
	m.next = (m.next + 1) % remembered
}

func (m *memory) has(g driver.Grant) bool { return m.set[ended{g.Nonce, g.Token}] }
