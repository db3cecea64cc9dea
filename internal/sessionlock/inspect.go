package sessionlock

import (
	"cmp"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// status returns h in the form that inspectors return. The caller holds mu.
func (h *Holding[K]) status() driver.Status {
	return driver.Status{
		Key: h.Key, State: driver.StateHeld, Token: h.grant.Token, Holder: h.Holder, Note: h.Note, Age: time.Since(h.since),
	}
}

// Held returns the state of a lock that this store holds. If several readers share the lock, Held describes the
// oldest share, and counts the shares of this store.
func (s *Store[K]) Held(id K) (status driver.Status, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var longest *Holding[K]
	for _, h := range s.locks[id] {
		if h.granted && (longest == nil || h.since.Before(longest.since)) {
			longest = h
		}
	}
	if longest == nil {
		return driver.Status{}, false
	}
	status = longest.status()
	status.Readers = s.readers(id)
	return status, true
}

// AllHeld returns the states of all locks that this store holds, sorted.
func (s *Store[K]) AllHeld() []driver.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []driver.Status{}
	for _, askers := range s.locks {
		for _, h := range askers {
			if h.granted {
				list = append(list, h.status())
			}
		}
	}
	SortByKey(list)
	return list
}

// SortByKey sorts states by namespace and name, the order of [driver.Operator].List.
func SortByKey(list []driver.Status) {
	slices.SortFunc(list, func(a, b driver.Status) int {
		return cmp.Or(cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
	})
}
