package sqlite

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

func (s *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if len(grants) == 0 {
		return nil, nil
	}
	result := make([]driver.Outcome, len(grants))
	switch err := s.same(ctx, sqlbase.LongRetry); {
	case errors.Is(err, errReplaced):
		for i := range result {
			result[i] = driver.Lost
		}
		return result, nil
	case err != nil:
		return nil, s.classify(ctx, "renew", grants[0].Key, err)
	}
	batch, err := sqlbase.EncodeGrants(grants)
	if err != nil {
		return nil, driver.Permanent(err)
	}
	renewed := map[grantID]bool{}
	err = s.call(ctx, func(q sqlbase.Querier) error {
		clear(renewed) // of a try that was undone
		return q.Query(ctx, s.sql["renew"], []any{batch}, func(r sqlbase.Rows) error {
			for r.Next() {
				var g grantID
				if err := r.Scan(&g.key.Namespace, &g.key.Name, &g.nonce, &g.token); err != nil {
					return err
				}
				renewed[g] = true
			}
			return nil
		})
	})
	if err != nil {
		return nil, s.classify(ctx, sqlbase.RenewalOf(grants), driver.Key{}, err)
	}
	for i, g := range grants {
		result[i] = driver.Lost
		if renewed[grantID{g.Key, g.Nonce.String(), g.Token}] {
			result[i] = driver.Renewed
		}
	}
	return result, nil
}

// grantID is what makes a grant that grant.
type grantID struct {
	key   driver.Key
	nonce string
	token driver.Token
}
