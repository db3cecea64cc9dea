package otellock

import (
	"sync"
	"time"

	"github.com/rowlock/rowlock"
)

// maxTokens limits the number of locks whose tokens are remembered.
const maxTokens = 1000

// tokens remembers the last grant of up to maxTokens locks, to detect a later grant whose token is not larger.
// A store that makes such a grant has lost data.
type tokens struct {
	mu   sync.Mutex
	last map[[2]string]granted
}

type granted struct {
	token rowlock.Token
	told  time.Time
}

// fell reports whether the token of the grant e is not larger than the token of the previous grant. The parameter now
// is the time at which e is reported. Concurrent grants may be reported in another order than that in which the store
// made them. So fell compares e only with a grant that was reported before the call of e began.
func (t *tokens) fell(e rowlock.AcquiredEvent, now time.Time) bool {
	if e.Token == 0 { // the store has no tokens
		return false
	}
	key := [2]string{e.Namespace, e.Name}
	t.mu.Lock()
	defer t.mu.Unlock()
	before, known := t.last[key]
	if t.last == nil {
		t.last = make(map[[2]string]granted)
	}
	if !known && len(t.last) >= maxTokens {
		for some := range t.last { // deletes an arbitrary entry
			delete(t.last, some)
			break
		}
	}
	t.last[key] = granted{e.Token, now}
	return known && e.Token <= before.token && now.Add(-e.Waited).After(before.told)
}
