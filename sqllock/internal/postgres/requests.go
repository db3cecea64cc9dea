package postgres

import (
	"context"
	"strings"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// A waiter that was refused leaves its request with its row, and a release grants the lock to that request: the
// hand-over is then one statement, its notification, and one read by primary key.

// call is what a notification says: the waiter that it is for, and whether a release says that it has granted the
// lock to that waiter's request. Every role of the database may send one, so it is a hint: the row proves the grant.
type call struct {
	id      string
	granted bool
}

// granted is what release_passing.sql writes behind the id.
const granted = "granted"

// parseCall reads what release.sql and release_passing.sql write.
func parseCall(payload string) call {
	id, word, _ := strings.Cut(payload, " ")
	return call{id: id, granted: word == granted}
}

// passed returns the grant that a release has made to r. It reads the row once for each notification that claims such a grant, and believes
// only the row.
func (p *Backend) passed(ctx context.Context, r driver.Request) (g driver.Grant, found bool, err error) {
	if !p.waiters.promised(r) {
		return g, false, nil
	}
	var token int64
	found, err = p.one(ctx, "passed", []any{r.Key.Namespace, r.Key.Name, r.Nonce.String()}, &token)
	if err != nil || !found {
		return g, false, err
	}
	p.waiters.handed(r.Key)
	g = grantOf(r, driver.Token(token))
	g.Earlier = true
	return g, true, nil
}

// promised reports whether a notification has claimed that a release granted the lock to r's process. It reports that once for each notification.
func (s *waiters) promised(r driver.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topics[r.Key]
	if !r.Waiting || t == nil || !t.granted {
		return false
	}
	t.granted = false
	return true
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

// handed notes that the waiter of this process has the lock, by a hand-over inside the process or by a release.
func (s *waiters) handed(key driver.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.topics[key]; t != nil {
		t.idle = true
	}
}

// rejoin writes the row anew, and asks again.
func (p *Backend) rejoin(ctx context.Context, r driver.Request) (sqlbase.Answer, error) {
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
		return sqlbase.Answer{}, err
	}
	return p.ask(ctx, r)
}

// withdraw has no release grant the request of g's nonce any more, and reports whether it had been left and not
// granted: then there is nothing to release.
func (p *Backend) withdraw(ctx context.Context, g driver.Grant) (withdrawn bool, err error) {
	p.waiters.mu.Lock()
	asked := p.waiters.asked
	p.waiters.mu.Unlock()
	if !asked {
		return false, nil
	}
	var word string
	withdrawn, err = p.releases.one(ctx, "withdraw", []any{g.Key.Namespace, g.Key.Name, g.Nonce.String()}, &word)
	awaitGone(p.waiters.forsake(g.Key))
	if withdrawn && err == nil {
		err = driver.ErrNotHeld
	}
	return withdrawn, err
}
