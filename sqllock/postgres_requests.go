package sqllock

import (
	"context"
	"strconv"
	"strings"

	"github.com/rowlock/rowlock/driver"
)

// A waiter that was refused leaves its request with its row, and a release grants the lock to that request: the
// hand-over is then one statement, and the notification of it.

// call is what a notification says: the waiter that it is for, and the grant that was made to its request. Without
// a token nothing was granted, but the lock is kept for it.
type call struct {
	id    string
	nonce driver.Nonce
	token driver.Token
}

// parseCall reads what release.sql and release_passing.sql write. What cannot be read grants nothing.
func parseCall(payload string) call {
	id, grant, _ := strings.Cut(payload, " ")
	c := call{id: id}
	text, number, _ := strings.Cut(grant, " ")
	nonce, err := driver.ParseNonce(text)
	token, wrong := strconv.ParseInt(number, 10, 64)
	if err == nil && wrong == nil && token > 0 {
		c.nonce, c.token = nonce, driver.Token(token)
	}
	return c
}

// passed is the token with which r was granted, if a call has said so. It says it once.
func (s *waiters) passed(r driver.Request) (token driver.Token, called bool) {
	if !r.Waiting {
		return 0, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[r.Key]
	if t == nil || t.call.token == 0 || t.call.nonce != r.Nonce {
		return 0, false
	}
	token = t.call.token
	t.call, t.idle = call{}, true
	return token, true
}

// called is the id of the row by which whoever waits for key here may be called, else nil.
func (s *waiters) called(key driver.Key) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.topics[key]; t != nil && !t.idle {
		return t.id
	}
	return nil
}

// handed takes note that the one who waits for key here got it from another one here.
func (s *waiters) handed(key driver.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.topics[key]; t != nil {
		t.idle = true
	}
}

// rejoin writes the row anew, and asks again.
func (p *postgres) rejoin(ctx context.Context, r driver.Request) (answer, error) {
	s := &p.waiters
	s.mu.Lock()
	t := s.topics[r.Key]
	if t == nil { // nobody waits any more
		s.mu.Unlock()
		return p.ask(ctx, r)
	}
	t.idle = false
	s.mu.Unlock()
	if err := p.write(ctx, t.turn, rowOf(r.Key, t.id), s.heardOn(), 1); err != nil {
		return answer{}, err
	}
	return p.ask(ctx, r)
}

// withdraw has no release grant the request of g's nonce any more, and reports whether it had been left and not
// granted: then there is nothing to release.
func (p *postgres) withdraw(ctx context.Context, g driver.Grant) (withdrawn bool, err error) {
	p.waiters.mu.Lock()
	asked := p.waiters.asked
	p.waiters.mu.Unlock()
	if !asked {
		return false, nil
	}
	var word string
	withdrawn, err = p.one(ctx, "withdraw", []any{g.Key.Namespace, g.Key.Name, g.Nonce.String()}, &word)
	if withdrawn && err == nil {
		err = driver.ErrNotHeld
	}
	return withdrawn, err
}
