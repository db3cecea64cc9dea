package postgres

import (
	"context"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// waiterRow is a waiter as wait.sql and leave.sql read it.
type waiterRow struct {
	Namespace sqlbase.Text `json:"namespace"`
	Name      sqlbase.Text `json:"name"`
	ID        string       `json:"id"`
}

func rowOf(key driver.Key, id string) waiterRow {
	return waiterRow{sqlbase.Text(key.Namespace), sqlbase.Text(key.Name), id}
}

func encodeWaiters(rows []waiterRow) string {
	list, _ := sqlbase.Encode(rows) // strings are always encoded
	return list
}

// write writes one row, once nobody else does.
func (p *Backend) write(ctx context.Context, turn turn, row waiterRow, channel string, first int64) error {
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return driver.NotApplied(ctx.Err())
	}
	defer func() { <-turn }()
	return p.Exec(ctx, "wait", encodeWaiters([]waiterRow{row}), channel, first)
}

// waiting is the id of the row of a waiter that asks, else nil, and says whether its request is left there if it is
// refused; mode is that for acquire_waiting.sql. Whoever comes back to a row of a moment ago writes it at once.
func (s *waiters) waiting(r driver.Request) (id any, leaves bool, mode int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	leaves = s.hears && r.Seal == ""
	if t := s.topics[r.Key]; t != nil && r.Waiting {
		id = t.id
	} else if l := s.leavers[r.Key]; t == nil && l != nil && l.back && r.Waits { // it has left its request there
		id = l.id
	} else if t == nil && l != nil && l.idle && !l.sent && r.Waits && leaves {
		id, mode = l.id, 2
	} else {
		return nil, false, 0
	}
	s.asked = s.asked || leaves
	return id, leaves, mode + sqlbase.Flag(leaves)
}

// answered takes note of what a waiter was told. The row of another, for whom the lock was kept in vain, is
// deleted: it may be dead. If it lives, it writes the row anew before long. It reports whether the waiter's own row
// is to be written anew, because nobody had been called by it.
func (s *waiters) answered(r driver.Request, a sqlbase.Answer, there bool) (anew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	granted := a.Verdict == sqlbase.Granted
	if t := s.topics[r.Key]; t != nil {
		anew = t.idle && !granted && !there
		t.idle = granted || anew
	} else if l := s.leavers[r.Key]; l != nil {
		l.idle, l.back = granted, !granted && (l.back || there)
	}
	if a.Missed != "" {
		s.missing[a.Missed] = r.Key
		s.hurry()
	}
	return anew
}

// leaver is the id of who waited for key until it was granted, and whose row is to be passed over. Where
// somebody waited here, or does, others do as well, most likely.
func (s *waiters) leaver(key driver.Key) (id string, crowded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.leavers[key]; l != nil {
		return l.id, true
	}
	return "", s.topics[key] != nil
}
