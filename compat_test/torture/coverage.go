//go:build linux

package main

import (
	"context"

	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// seen counts the events that must happen before a run may end.
type seen struct{ stale, known, lost, kills, evicted int }

func (s *seen) add(e history.Event) {
	switch {
	case e.Kind == history.Lost:
		s.lost++
	case e.Kind == history.Wrote && e.Outcome == history.Stale:
		s.stale++
	case e.Kind == history.Wrote && e.Outcome == history.LeaseLost:
		s.known++
	}
}

// enough reports whether the run has made enough observations for the checker. On a slow machine this takes longer.
func (r *run) enough(ctx context.Context) bool {
	r.fleet.holder("") // the call of holder reads the new lines of the workers' logs
	r.fleet.mu.Lock()
	s := r.fleet.seen
	r.fleet.mu.Unlock()
	if r.store.expect.Told {
		s.stale += s.known
	}
	return s.stale > 0 && s.known > 0 && s.lost > 0 && s.kills > 1 && s.evicted > 0 && r.controlLost(ctx)
}

// controlLost reports whether an update was lost on the chain without a fence.
func (r *run) controlLost(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, longestTx)
	defer cancel()
	rows, err := r.data.QueryContext(ctx, r.data.bind("SELECT read_val, new_val FROM torture_ledger WHERE resource = ? ORDER BY seq"), controlName)
	if err != nil {
		return false
	}
	defer rows.Close() //nolint:errcheck // on an error, the caller runs this query again later
	for last := int64(0); rows.Next(); {
		var read, value int64
		if rows.Scan(&read, &value) == nil && read != last {
			return true
		}
		last = value
	}
	return false
}
