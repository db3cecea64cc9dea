package sessionlock

import (
	"context"
	"slices"
	"sync"

	"github.com/rowlock/rowlock/driver"
)

// Renew asks the server whether the sessions still hold the locks of these grants.
// It calls Prove once on each session, on all sessions in parallel.
func (s *Store[K]) Renew(ctx context.Context, idOf func(driver.Key) K, grants []driver.Grant) ([]driver.Outcome, error) {
	outcomes := make([]driver.Outcome, len(grants))
	found := make([]*Holding[K], len(grants))
	bySession := map[*Session[K]][]int{}
	s.mu.Lock()
	for i, g := range grants {
		outcomes[i] = driver.Lost
		if h := s.find(idOf(g.Key), g); h != nil {
			h.grant.TTL = g.TTL
			found[i] = h
			bySession[h.session] = append(bySession[h.session], i)
		}
	}
	s.mu.Unlock()
	var mu sync.Mutex
	var failure error
	var all sync.WaitGroup
	for se, places := range bySession {
		all.Go(func() {
			list := make([]*Holding[K], len(places))
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
	return nil, failure
}

// Proven asks the server whether h's session holds its lock.
func (s *Store[K]) Proven(ctx context.Context, h *Holding[K]) (bool, error) {
	outcomes, err := h.session.prove(ctx, []*Holding[K]{h})
	return err == nil && outcomes[0] == driver.Renewed, err
}

// prove asks the server which of the locks in list the session holds. If a lock was released while prove waited for
// the connection, prove reports it as lost. If the server reports that a lock is missing, the session is closed, and
// all its locks are lost.
func (se *Session[K]) prove(ctx context.Context, list []*Holding[K]) ([]driver.Outcome, error) {
	lost := slices.Repeat([]driver.Outcome{driver.Lost}, len(list))
	if err := se.Take(ctx); err != nil {
		if err == ErrGone {
			return lost, nil
		}
		return nil, err
	}
	outcomes := slices.Clone(lost)
	err := se.Run(ctx, nil, func(ctx context.Context) error {
		if err := se.link.Prove(ctx, se.granted(list)); err != nil || se.Broken != nil {
			return err
		}
		se.store.mu.Lock()
		defer se.store.mu.Unlock()
		for i, h := range list {
			if h.granted {
				outcomes[i] = driver.Renewed
			}
		}
		return nil
	})
	if err != nil && se.ctx.Err() != nil {
		return lost, nil // the session has ended, so the server has released its locks
	}
	return outcomes, err
}

// granted returns the holdings of list that are still granted according to the bookkeeping.
func (se *Session[K]) granted(list []*Holding[K]) []*Holding[K] {
	se.store.mu.Lock()
	defer se.store.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(list), func(h *Holding[K]) bool { return !h.granted })
}
