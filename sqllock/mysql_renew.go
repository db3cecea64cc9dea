package sqllock

import (
	"context"

	"github.com/rowlock/rowlock/driver"
)

const (
	// renewBatch is how many grants travel in one statement: with the longest names, some 1.6 MB.
	renewBatch = 1000
	// renewLooks is how often a row that somebody has locked is asked for.
	renewLooks = 3
)

// Renew takes one round trip for a batch in which every grant is alive, and one more to tell the
// grants apart otherwise.
func (m *mysql) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if len(grants) == 0 {
		return nil, nil
	}
	s, err := m.server(ctx)
	if err != nil {
		return nil, m.classify(ctx, "renew", grants[0].Key, err)
	}
	result := make([]driver.Outcome, len(grants))
	for first := 0; first < len(grants); first += renewBatch {
		end := min(first+renewBatch, len(grants))
		if err := s.renew(ctx, grants[first:end], result[first:end]); err != nil {
			if first > 0 {
				return result, nil // something is known of some: the others stay unknown
			}
			return nil, m.classify(ctx, "renew", grants[0].Key, err)
		}
	}
	return result, nil
}

// renew renews a batch, and asks again for the rows that it found locked: those who look at a lock
// in vain lock its row for a moment. It fails only if nothing is known of any grant.
func (s *mysqlServer) renew(ctx context.Context, grants []driver.Grant, result []driver.Outcome) error {
	places := make([]int, len(grants)) // of the grants that are still unknown
	for i := range places {
		places[i] = i
	}
	for look := 1; ; look++ {
		subset := make([]driver.Grant, len(places))
		for i, place := range places {
			subset[i] = grants[place]
		}
		outcomes, err := s.renewOnce(ctx, subset)
		if err != nil {
			if look > 1 {
				return nil
			}
			return err
		}
		var locked []int
		for i, place := range places {
			result[place] = outcomes[i]
			if outcomes[i] == driver.Unknown {
				locked = append(locked, place)
			}
		}
		if places = locked; len(places) == 0 || look == renewLooks || pause(ctx, jitter(lookPause)) != nil {
			return nil
		}
	}
}

func (s *mysqlServer) renewOnce(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	batch, err := encodeGrants(hexedKeys(grants))
	if err != nil {
		return nil, driver.Permanent(err)
	}
	done, err := s.exec(ctx, "renew", batch)
	if err != nil {
		return nil, err
	}
	result := make([]driver.Outcome, len(grants))
	if int(done.affected) == len(grants) {
		for i := range result {
			result[i] = driver.Renewed
		}
		return result, nil
	}
	for i := range result {
		result[i] = driver.Lost
	}
	err = s.run(ctx, func() error {
		r, err := s.q.query(ctx, s.sql["renewed"], done.lastID, batch)
		if err != nil {
			return err
		}
		defer r.Close()
		return readOutcomes(r, result)
	})
	return result, err
}

// hexedKeys are the grants with their names as the statements take them.
func hexedKeys(grants []driver.Grant) []driver.Grant {
	result := make([]driver.Grant, len(grants))
	for i, g := range grants {
		g.Key = driver.Key{Namespace: hexed(g.Key.Namespace), Name: hexed(g.Key.Name)}
		result[i] = g
	}
	return result
}
