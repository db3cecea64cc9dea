package sessionlock

import (
	"time"

	"github.com/rowlock/rowlock/driver"
)

// A server grants a lock a second time to a session that already holds it. So the store records which locks this
// process holds, and sends the server no request that conflicts with them. That record is called the bookkeeping, and
// each of its entries is a [Holding]. This file implements the bookkeeping.

// Holding is an entry of the bookkeeping: a grant, or a request that is running. Its exported fields do not change.
type Holding[K comparable] struct {
	ID           K
	Key          driver.Key
	Shared       bool
	Holder, Note string
	TTL          time.Duration // the TTL of the first request with this nonce

	// Guarded by the store's mutex.
	grant     driver.Grant
	since     time.Time
	asking    chan struct{} // closed once the server has answered; the field granted is valid only after that
	granted   bool          // the lock is held
	gone      chan struct{} // closed when the lock is released, lost or refused
	unwanted  bool          // the holder has called Release, so the holder no longer relies on the lock
	releasing bool
	session   *Session[K] // the session that holds the lock or requests it
}

// The method "is" reports whether g is the grant of h. If g's token is zero, the method does not compare tokens.
func (h *Holding[K]) is(g driver.Grant) bool {
	return h.Key == g.Key && h.grant.Nonce == g.Nonce && (g.Token == 0 || h.grant.Token == g.Token)
}

// barring returns another granted holding that conflicts with the request h, or nil. Requests for two names also conflict if
// both names map to the same lock of the server, because the server would refuse one of them to another process. The
// parameter queues is true if h waits in the server's queue, on a session without locks. An exclusive request that
// waits there does not conflict with the shares of this process. The server itself makes the request wait until the
// shares are released, and makes later readers wait behind it. The caller holds mu.
func (s *Store[K]) barring(h *Holding[K], queues bool) *Holding[K] {
	for _, other := range s.locks[h.ID] {
		shares := other.Shared && (h.Shared && h.Key == other.Key || queues && !h.Shared)
		if other != h && !shares && other.granted {
			return other
		}
	}
	return nil
}

// refusal returns the error for a request of this process that conflicts with h. The caller holds mu.
func (s *Store[K]) refusal(h *Holding[K]) *driver.Held {
	if !h.granted {
		return &driver.Held{Reason: driver.Contended, Holder: h.Holder}
	}
	return &driver.Held{
		Reason: driver.Leased, Holder: h.Holder, Note: h.Note, Token: h.grant.Token, Since: time.Since(h.since), Readers: s.readers(h.ID),
	}
}

// readers returns how many shares of the lock id this store holds. The caller holds mu.
func (s *Store[K]) readers(id K) (n int) {
	for _, h := range s.locks[id] {
		if h.granted && h.Shared {
			n++
		}
	}
	return n
}

// find returns the granted holding of g, or nil. The caller holds mu.
func (s *Store[K]) find(id K, g driver.Grant) *Holding[K] {
	if h := s.locks[id][g.Nonce]; h != nil && h.granted && h.is(g) {
		return h
	}
	return nil
}

// reserve returns the holding with r's nonce. If there is none, reserve adds one.
// If another holding conflicts with r, reserve adds nothing and returns that holding as inTheWay. The parameter queues
// says that r will wait in the server's queue if a session is left for it.
func (s *Store[K]) reserve(r driver.Request, queues bool) (h *Holding[K], isNew bool, inTheWay *Holding[K]) {
	id := s.KeyOf(r.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.locks[id][r.Nonce]; h != nil && h.Key == r.Key && h.Shared == r.Shared {
		return h, false, nil
	}
	h = &Holding[K]{
		ID: id, Key: r.Key, Shared: r.Shared, Holder: r.Holder, Note: r.Note, TTL: r.TTL,
		grant:  driver.Grant{Key: r.Key, Nonce: r.Nonce, TTL: r.TTL, Shared: r.Shared},
		asking: make(chan struct{}), gone: make(chan struct{}),
	}
	if inTheWay := s.barring(h, queues && s.mayWait()); inTheWay != nil {
		return nil, false, inTheWay
	}
	if s.locks == nil {
		s.locks = map[K]map[driver.Nonce]*Holding[K]{}
	}
	if s.locks[id] == nil {
		s.locks[id] = map[driver.Nonce]*Holding[K]{}
	}
	s.locks[id][r.Nonce] = h
	return h, true, nil
}

// settle assigns h to the session. If another request of this process got the lock since h was reserved, the method
// drops h and returns a refusal. The parameter queues says that h waits in the server's queue.
func (se *Session[K]) settle(h *Holding[K], queues bool) (refusal error) {
	s := se.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.barring(h, queues); other != nil {
		defer s.drop(h)
		return s.refusal(other)
	}
	h.session, se.watches = se, se.link.Watches()
	se.holdings[h] = struct{}{}
	return nil
}

// grantedWith records that the session holds h's lock, with the token, or with 0 if the lock has no token. The caller
// holds mu.
func (h *Holding[K]) grantedWith(token driver.Token) driver.Grant {
	h.grant.Token, h.grant.Session = token, h.session.ctx
	h.granted, h.since = true, time.Now()
	close(h.asking)
	return h.grant
}

// drop removes h from the bookkeeping, and wakes the requests that wait for h. The caller holds mu.
func (s *Store[K]) drop(h *Holding[K]) {
	if s.locks[h.ID][h.grant.Nonce] != h {
		return
	}
	delete(s.locks[h.ID], h.grant.Nonce)
	if len(s.locks[h.ID]) == 0 {
		delete(s.locks, h.ID)
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

// forget locks mu and calls drop.
func (s *Store[K]) forget(h *Holding[K]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(h)
}

// abandon drops h unless it was granted.
func (s *Store[K]) abandon(h *Holding[K]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !h.granted {
		s.drop(h)
	}
}
