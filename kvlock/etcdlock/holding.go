package etcdlock

import "github.com/rowlock/rowlock/driver"

// hold is a grant that lives on a session of ours.
type hold struct {
	key     driver.Key
	token   driver.Token
	session *session
	shared  bool
	leaving bool // a release was sent and not answered
}

// hold notes a grant, and returns it.
func (b *Backend) hold(r driver.Request, token driver.Token, s *session) driver.Grant {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holds[r.Nonce] = &hold{key: r.Key, token: token, session: s, shared: b.shared}
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

// forget drops what is known of g.
func (b *Backend) forget(g driver.Grant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.holds[g.Nonce]; h != nil && h.key == g.Key && h.shared == b.shared && (h.token == g.Token || g.Token == 0) {
		delete(b.holds, g.Nonce)
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
