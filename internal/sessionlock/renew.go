package sessionlock

import (
	"context"
	"sync"

	"github.com/rowlock/rowlock/driver"
)

// Renew implements [driver.Backend]. It asks the server whether the sessions of these grants still hold their locks,
// on all sessions in parallel.
func (s *Store[K]) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if err := s.Ready(ctx); err != nil {
		return nil, err
	}
	found := make([]*Holding[K], len(grants))
	failures := map[*Session[K]]error{} // of each session, nil if the server has answered
	s.mu.Lock()
	for i, g := range grants {
		if h := s.find(s.KeyOf(g.Key), g); h != nil {
			h.grant.TTL = g.TTL
			found[i], failures[h.session] = h, nil
		}
	}
	s.mu.Unlock()
	s.proveAll(ctx, failures)
	outcomes := make([]driver.Outcome, len(grants))
	known := len(grants) == 0
	var failure error
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, h := range found {
		switch {
		case h == nil || !h.granted:
			outcomes[i] = driver.Lost
		case failures[h.session] != nil:
			failure = failures[h.session]
			continue
		default:
			outcomes[i] = driver.Renewed
		}
		known = true
	}
	if !known {
		return nil, s.Explain(ctx, "renew", driver.Key{}, failure)
	}
	return outcomes, nil
}

// proveAll calls the method prove of each session, and puts the results into the map.
func (s *Store[K]) proveAll(ctx context.Context, failures map[*Session[K]]error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	mu.Lock()
	for se := range failures {
		all.Go(func() {
			err := se.prove(ctx)
			mu.Lock()
			defer mu.Unlock()
			failures[se] = err
		})
	}
	mu.Unlock()
	all.Wait()
}

// The method proven asks the server whether h's session holds its lock.
func (s *Store[K]) proven(ctx context.Context, h *Holding[K]) (bool, error) {
	err := h.session.prove(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !h.granted {
		return false, nil
	}
	return err == nil, err
}

// prove asks the server whether the session holds its locks. If the server reports that a lock is missing, or the session
// has ended, prove returns no error, and none of the locks is granted any longer.
func (se *Session[K]) prove(ctx context.Context) error {
	if err := se.Take(ctx); err != nil {
		if err == ErrGone {
			return nil
		}
		return err
	}
	return se.Run(ctx, nil, func(ctx context.Context) error {
		var list []*Holding[K]
		se.store.mu.Lock()
		for h := range se.holdings {
			list = append(list, h)
		}
		se.store.mu.Unlock()
		return se.link.Prove(ctx, list)
	})
}
