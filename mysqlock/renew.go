package mysqlock

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"sync"

	"github.com/rowlock/rowlock/driver"
)

// Renew implements [driver.Backend]: it proves that the sessions hold what they hold, with one
// statement for each session, all at the same time. A server that has become read-only loses all its
// grants: the primary is another, and grants the same names.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if err := b.ready(ctx); err != nil {
		return nil, err
	}
	outcomes := make([]driver.Outcome, len(grants))
	found := make([]*holding, len(grants))
	bySession := map[*session][]int{}
	b.mu.Lock()
	for i, g := range grants {
		outcomes[i] = driver.Lost
		if h := b.find(g); h != nil {
			h.grant.TTL = g.TTL
			found[i] = h
			bySession[h.session] = append(bySession[h.session], i)
		}
	}
	b.mu.Unlock()
	var mu sync.Mutex
	var failure error
	var all sync.WaitGroup
	for se, places := range bySession {
		all.Go(func() {
			list := make([]*holding, len(places))
			for i, place := range places {
				list[i] = found[place]
			}
			proven, err := se.prove(ctx, list)
			mu.Lock()
			defer mu.Unlock()
			for i, place := range places {
				outcomes[place] = driver.Unknown
				if err == nil {
					outcomes[place] = proven[i]
				}
			}
			if err != nil {
				failure = err
			}
		})
	}
	all.Wait()
	if len(grants) == 0 || slices.ContainsFunc(outcomes, func(o driver.Outcome) bool { return o != driver.Unknown }) {
		return outcomes, nil
	}
	return nil, explain(ctx, b.table, "renew", driver.Key{}, failure)
}

// prove asks the server which of the holdings the session has. One that is missing says that we know
// nothing of the others either.
func (se *session) prove(ctx context.Context, list []*holding) ([]driver.Outcome, error) {
	outcomes := make([]driver.Outcome, len(list))
	for i := range outcomes {
		outcomes[i] = driver.Lost
	}
	if err := se.take(ctx); err != nil {
		if err == errGone {
			return outcomes, nil
		}
		return nil, err
	}
	err := se.run(ctx, nil, func(ctx context.Context) error {
		asked := make([]string, len(list))
		for i, h := range list {
			asked[i] = h.lock
		}
		for part := range slices.Chunk(asked, proofSize) {
			if err := se.owns(ctx, part); err != nil || se.broken != nil {
				return err
			}
		}
		se.backend.mu.Lock()
		defer se.backend.mu.Unlock()
		for i, h := range list {
			if h.granted {
				outcomes[i] = driver.Renewed
			}
		}
		return nil
	})
	if err != nil && se.ctx.Err() != nil {
		return slices.Repeat([]driver.Outcome{driver.Lost}, len(list)), nil // with the session, everything on it is lost
	}
	return outcomes, err
}

// proofSize is how many locks one statement asks about.
const proofSize = 1000

// owns notes that the session is broken unless it has all of these locks.
func (se *session) owns(ctx context.Context, locks []string) error {
	text, err := json.Marshal(locks)
	if err != nil {
		return err
	}
	n := 0
	err = se.conn.rows(ctx, se.backend.sql["owned"], []any{string(text)}, func(rows *sql.Rows) error {
		var place int
		var owned, readOnly bool
		if err := rows.Scan(&place, &owned, &readOnly); err != nil {
			return err
		}
		n++
		switch {
		case readOnly:
			se.broken = errReadOnly
		case !owned:
			se.broken = errMissing
		}
		return nil
	})
	if err == nil && n != len(locks) {
		se.broken = errMissing
	}
	return se.note(ctx, err)
}
