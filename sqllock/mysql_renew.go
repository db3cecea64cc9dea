package sqllock

import (
	"context"

	"github.com/rowlock/rowlock/driver"
)

// renewBatch is how many grants travel in one statement: with the longest names, some 1.6 MB.
const renewBatch = 1000

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
		outcomes, err := renewAll(ctx, grants[first:end], s.renewOnce)
		if err != nil && first == 0 {
			return nil, m.classify(ctx, "renew", grants[0].Key, err)
		}
		if err != nil {
			break // something is known of some: the others stay unknown
		}
		copy(result[first:], outcomes)
	}
	return result, nil
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
		return s.q.query(ctx, s.sql["renewed"], []any{done.lastID, batch}, outcomesInto(result))
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
