package fence

import (
	"sync"

	"github.com/rowlock/rowlock/driver"
)

// slot is a row of the outcome table, and the number of the transaction that is to write it.
type slot struct {
	id        string
	operation int64
}

// slots are those of one guard that no transaction uses: as many as have run at the same time.
type slots struct {
	mu   sync.Mutex
	free []slot
}

// take hands out a slot with an operation that was never used with it.
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

// give takes back the slot of a transaction that is known to have ended. Another one might hold the
// row still, and would keep the next user waiting: its slot is given up.
func (f *slots) give(s slot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.free = append(f.free, s)
}
