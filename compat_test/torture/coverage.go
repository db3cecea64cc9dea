//go:build linux

package main

import (
	"context"

	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// seen counts what a run must have seen before it may end.
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

// enough says whether the checker will find something to judge. A slow machine takes longer to see it.
func (r *run) enough(ctx context.Context) bool {
	r.fleet.holder("") // reads the logs
	r.fleet.mu.Lock()
	s := r.fleet.seen
	r.fleet.mu.Unlock()
	if r.store.expect.Told {
		s.stale += s.known
	}
	return s.stale > 0 && s.known > 0 && s.lost > 0 && s.kills > 1 && s.evicted > 0 && r.controlLost(ctx)
}

// controlLost says whether the chain without a fence has lost an update.
func (r *run) controlLost(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, longestTx)
	defer cancel()
	rows, err := r.data.QueryContext(ctx, r.data.bind("SELECT read_val, new_val FROM torture_ledger WHERE resource = ? ORDER BY seq"), controlName)
	if err != nil {
		return false
	}
	defer rows.Close() //nolint:errcheck // it is asked again
	for last := int64(0); rows.Next(); {
		var read, value int64
		if rows.Scan(&read, &value) == nil && read != last {
			return true
		}
		last = value
	}
	return false
}
