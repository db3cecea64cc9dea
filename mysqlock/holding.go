package mysqlock

import (
	"time"

	"github.com/rowlock/rowlock/driver"
)

// The server would grant a lock again to the session that has it, so it is asked for what nobody here
// has, and this bookkeeping says the rest.

// holding is one grant, or one that is being asked for.
type holding struct {
	grant        driver.Grant
	holder, note string
	since        time.Time
	asking       chan struct{} // closed once the server has answered; then granted counts
	granted      bool          // the lock is held; its token may be missing yet
	gone         chan struct{} // closed when it is not held any more, nor asked for
	releasing    bool
	session      *session // that it lives on
	lock         string   // the server's name for it
}

// is reports whether h is what g says; a zero token of g is any.
func (h *holding) is(g driver.Grant) bool {
	return h.grant.Key == g.Key && h.grant.Nonce == g.Nonce && (g.Token == 0 || h.grant.Token == g.Token)
}

// refusal is what others here are told of h.
func (h *holding) refusal() *driver.Held {
	return &driver.Held{Reason: driver.Leased, Holder: h.holder, Note: h.note, Token: h.grant.Token, Since: time.Since(h.since)}
}

// find is the granted holding that g says. The caller holds mu.
func (b *Backend) find(g driver.Grant) *holding {
	if h := b.asked[g.Nonce]; h != nil && h.granted && h.is(g) {
		return h
	}
	return nil
}

// reserve finds the holding of r's nonce, or makes one unless somebody here holds the key.
func (b *Backend) reserve(r driver.Request) (h *holding, isNew bool, inTheWay *holding) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.asked[r.Nonce]; h != nil && h.grant.Key == r.Key {
		return h, false, nil
	}
	if other := b.held[r.Key]; other != nil {
		return nil, false, other
	}
	h = &holding{
		holder: r.Holder, note: r.Note, asking: make(chan struct{}), gone: make(chan struct{}),
		grant: driver.Grant{Key: r.Key, Nonce: r.Nonce, TTL: r.TTL},
	}
	b.asked[r.Nonce] = h
	return h, true, nil
}

// granted notes that the session has the lock of h, with its token if it is known.
func (se *session) granted(h *holding, token int64) driver.Grant {
	b := se.backend
	b.mu.Lock()
	defer b.mu.Unlock()
	h.grant.Token = driver.Token(token)
	h.granted, h.since = true, time.Now()
	b.held[h.grant.Key] = h
	close(h.asking)
	return h.grant
}

// drop forgets h. The caller holds mu.
func (b *Backend) drop(h *holding) {
	if b.asked[h.grant.Nonce] != h {
		return
	}
	delete(b.asked, h.grant.Nonce)
	if b.held[h.grant.Key] == h {
		delete(b.held, h.grant.Key)
	}
	if h.session != nil {
		delete(h.session.holdings, h)
	}
	if !h.granted {
		close(h.asking)
	}
	h.granted = false
	close(h.gone)
}

// forget is drop for whoever does not hold mu.
func (b *Backend) forget(h *holding) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(h)
}

// abandon forgets h if it was only asked for.
func (b *Backend) abandon(h *holding) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !h.granted {
		b.drop(h)
	}
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
