package advisory

import (
	"time"

	"github.com/rowlock/rowlock/driver"
)

// The server would grant a lock again to the session that has it, so it is asked for what nobody here
// has, and this bookkeeping says the rest.

// lock is what this process knows of one key: who here holds it or is asking for it.
type lock struct {
	shared   bool
	holdings map[driver.Nonce]*holding
}

// holding is one grant, or one that is being asked for.
type holding struct {
	id           int64
	shared       bool
	grant        driver.Grant
	holder, note string
	since        time.Time
	asking       chan struct{} // closed once the server has answered; then granted counts
	granted      bool
	releasing    bool
	session      *session // that it lives on, or is asked on
}

// is reports whether h is what g says; a zero token of g is any.
func (h *holding) is(g driver.Grant) bool {
	return h.grant.Key == g.Key && h.grant.Nonce == g.Nonce && (g.Token == 0 || h.grant.Token == g.Token)
}

// held is what others here are told of h.
func (h *holding) held() *driver.Held {
	if !h.granted {
		return &driver.Held{Reason: driver.Contended, Holder: h.holder}
	}
	return &driver.Held{Reason: driver.Leased, Holder: h.holder, Note: h.note, Token: h.grant.Token, Since: time.Since(h.since)}
}

// find is the granted holding that g says. The caller holds mu.
func (s *store) find(id int64, g driver.Grant) *holding {
	l := s.locks[id]
	if l == nil {
		return nil
	}
	if h := l.holdings[g.Nonce]; h != nil && h.granted && h.is(g) {
		return h
	}
	return nil
}

// reserve finds the holding of r's nonce, or makes one if nobody here is in its way. Two names with
// one key are in each other's way, as they are between processes.
func (s *store) reserve(id int64, shared bool, r driver.Request) (h *holding, isNew bool, inTheWay *holding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.locks[id]
	if l == nil {
		l = &lock{shared: shared, holdings: map[driver.Nonce]*holding{}}
		s.locks[id] = l
	}
	if h := l.holdings[r.Nonce]; h != nil && h.grant.Key == r.Key && h.shared == shared {
		return h, false, nil
	}
	for _, other := range l.holdings {
		if !l.shared || !shared || other.grant.Key != r.Key {
			return nil, false, other
		}
	}
	h = &holding{
		id: id, shared: shared, holder: r.Holder, note: r.Note, asking: make(chan struct{}),
		grant: driver.Grant{Key: r.Key, Nonce: r.Nonce, TTL: r.TTL},
	}
	l.holdings[r.Nonce] = h
	return h, true, nil
}

// drop forgets h. The caller holds mu.
func (s *store) drop(h *holding) {
	l := s.locks[h.id]
	if l == nil || l.holdings[h.grant.Nonce] != h {
		return
	}
	delete(l.holdings, h.grant.Nonce)
	if len(l.holdings) == 0 {
		delete(s.locks, h.id)
	}
	if h.session != nil {
		delete(h.session.holdings, h)
	}
	if !h.granted {
		close(h.asking)
	}
	h.granted = false
}

// abandon forgets h if it was only asked for.
func (s *store) abandon(h *holding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !h.granted {
		s.drop(h)
	}
}

// forget is drop for whoever does not hold mu.
func (s *store) forget(h *holding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(h)
}

// memory is of the grants that were released last, so that releasing again is no error. It is
// bounded: who releases again does so within moments.
type memory struct {
	list [256]ending
	next int
}

type ending struct {
	nonce driver.Nonce
	token driver.Token
	err   error // nil: the server said so
}

func (m *memory) add(g driver.Grant, err error) {
	m.list[m.next] = ending{g.Nonce, g.Token, err}
	m.next = (m.next + 1) % len(m.list)
}

func (m *memory) of(g driver.Grant) (err error, known bool) {
	for _, e := range m.list {
		if e.nonce == g.Nonce && e.token == g.Token && e.nonce != (driver.Nonce{}) {
			return e.err, true
		}
	}
	return nil, false
}
