package otellock

import (
	"sync"
	"time"

	"github.com/rowlock/rowlock"
)

// maxTokens bounds how many names' tokens are remembered.
const maxTokens = 1000

// tokens remembers the last grant of some names, to notice one that is not larger: a store that has lost its
// history.
type tokens struct {
	mu   sync.Mutex
	last map[[2]string]granted
}

type granted struct {
	token rowlock.Token
	told  time.Time
}

// fell says whether the token of e, which is told at now, should have been larger. Only of a call that began
// after the earlier grant was told is that certain.
func (t *tokens) fell(e rowlock.AcquiredEvent, now time.Time) bool {
	if e.Token == 0 { // the store has none
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
		for some := range t.last { // whichever comes first
			delete(t.last, some)
			break
		}
	}
	t.last[key] = granted{e.Token, now}
	return known && e.Token <= before.token && now.Add(-e.Waited).After(before.told)
}
