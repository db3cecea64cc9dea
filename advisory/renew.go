package advisory

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/rowlock/rowlock/driver"
)

// Renew implements [driver.Backend]: it proves that the sessions hold what they hold, with one
// statement for each session, all at the same time.
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
		if h := b.find(b.keyOf(g.Key), g); h != nil && h.shared == b.shared {
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
	for _, o := range outcomes {
		if o != driver.Unknown {
			return outcomes, nil
		}
	}
	return outcomes, explain(ctx, b.table, "renew", driver.Key{}, failure)
}

// prove asks the server which of the holdings the session has.
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
		owned, err := se.owned(ctx)
		if err != nil {
			return err
		}
		se.store.mu.Lock()
		defer se.store.mu.Unlock()
		for h := range se.holdings { // all of them, because one that is missing says that we know nothing
			if !owned[place{h.id, h.shared}] {
				se.broken = errMissing
			}
		}
		for i, h := range list {
			if h.granted && se.broken == nil {
				outcomes[i] = driver.Renewed
			}
		}
		return nil
	})
	if err != nil && se.ctx.Err() != nil {
		return outcomes, nil // with the session, everything on it is lost
	}
	return outcomes, err
}

// place is how the server knows a lock of a session.
type place struct {
	id     int64
	shared bool
}

// owned is what the server says that the session holds.
func (se *session) owned(ctx context.Context) (map[place]bool, error) {
	var at int64
	var text string
	if err := se.query(ctx, "owned", nil, &at, &text); err != nil {
		return nil, err
	}
	owned := map[place]bool{}
	if at != int64(se.pid) {
		se.broken = se.moved(at)
		return owned, nil
	}
	for word := range strings.FieldsSeq(text) {
		number, shared := strings.CutSuffix(word, "s")
		id, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, err
		}
		owned[place{id, shared}] = true
	}
	return owned, nil
}
