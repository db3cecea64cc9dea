package etcdlock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// hold is an entry of ours: of a grant, or of an acquisition that is under way or whose reply is missing.
type hold struct {
	key     driver.Key
	entry   string
	token   driver.Token // zero until it is granted
	session *session
	shared  bool
	doubted bool // a request that puts it was not answered
	leaving bool // a release was sent and not answered

	ctx context.Context // ends when it is known to be gone; nil until somebody asks
	end context.CancelCauseFunc
}

// enlist returns the entry for a request on s: the one that it has, or the first that is not in use.
func (b *Backend) enlist(r driver.Request, s *session) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.holds[r.Nonce]; h != nil && h.session == s && h.key == r.Key && h.shared == b.shared {
		return h.entry
	}
	for number := 0; ; number++ {
		if entry := b.entry(r.Key, s, number); !s.used[entry] {
			s.used[entry] = true
			b.holds[r.Nonce] = &hold{key: r.Key, entry: entry, session: s, shared: b.shared}
			return entry
		}
	}
}

// enlisted is what is known of a request that was sent before; nil if nothing is.
func (b *Backend) enlisted(r driver.Request) *hold {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.holds[r.Nonce]; h != nil && h.key == r.Key && h.shared == b.shared {
		return h
	}
	return nil
}

// strike forgets an entry that is certainly not there, unless it may yet be put.
func (b *Backend) strike(r driver.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.holds[r.Nonce]; h != nil && h.token == 0 && !h.doubted {
		b.unlist(r.Nonce, h)
	}
}

// unlist is called with mu held. A key that may yet be put or deleted is not used again.
func (s *store) unlist(nonce driver.Nonce, h *hold) {
	delete(s.holds, nonce)
	if !h.doubted && !h.leaving {
		delete(h.session.used, h.entry)
	}
}

// hold notes a grant, and returns it.
func (b *Backend) hold(r driver.Request, token driver.Token, s *session) driver.Grant {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.holds[r.Nonce]; h != nil { // its session has just ended otherwise
		h.token = token
		b.guard(s)
	}
	return driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: token, TTL: min(r.TTL, s.ttl)}
}

// held is what is known of g; nil if it is not one of ours.
func (b *Backend) held(g driver.Grant) *hold {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.holds[g.Nonce]
	if h == nil || h.key != g.Key || h.token != g.Token || h.shared != b.shared {
		return nil
	}
	return h
}

// isLeaving says whether a release was sent and not answered.
func (s *store) isLeaving(h *hold) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.leaving
}

// find is held, and of a grant without a token whatever its nonce has.
func (b *Backend) find(g driver.Grant) *hold {
	if g.Token != 0 {
		return b.held(g)
	}
	return b.enlisted(driver.Request{Key: g.Key, Nonce: g.Nonce})
}

// forget drops what is known of g, unless its entry may yet be put: then it is to be deleted again.
func (b *Backend) forget(g driver.Grant) {
	h := b.find(g)
	b.mu.Lock()
	defer b.mu.Unlock()
	if h != nil && (!h.doubted || g.Token != 0) {
		b.unlist(g.Nonce, h)
	}
}

// forgetOld drops what is in doubt on sessions that nobody has kept alive for twice as long as they live.
// It is called with mu held.
func (s *store) forgetOld() {
	for nonce, h := range s.holds {
		if h.token == 0 && h.doubted && time.Since(h.session.proven) > 2*h.session.ttl {
			delete(s.holds, nonce)
		}
	}
}

// begin reserves a nonce for one call at a time.
func (s *store) begin(nonce driver.Nonce) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[nonce] {
		return false
	}
	s.busy[nonce] = true
	return true
}

func (s *store) done(nonce driver.Nonce) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, nonce)
}

// memory is the grants that were released last, so that a release may be repeated.
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
