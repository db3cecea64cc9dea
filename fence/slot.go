package fence

import (
	"sync"

	"github.com/rowlock/rowlock/driver"
)

// slot is a row of the outcome table, and the number of the transaction that will write it.
type slot struct {
	id        string
	operation int64
}

// slots keeps the outcome rows of one guard that no transaction uses at present. A guard needs as many rows as it has
// concurrent transactions.
type slots struct {
	mu   sync.Mutex
	free []slot
}

// take returns a slot, with an operation number that was never used in it.
func (f *slots) take() slot {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := slot{id: driver.NewNonce().String()}
	if last := len(f.free) - 1; last >= 0 {
		s, f.free = f.free[last], f.free[:last]
	}
	s.operation++
	return s
}

// give makes the slot available again after its transaction is known to have ended. A transaction in doubt might still
// lock the row and block the next user, so its slot is never returned.
func (f *slots) give(s slot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.free = append(f.free, s)
}
