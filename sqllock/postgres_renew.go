package sqllock

import (
	"context"

	"github.com/rowlock/rowlock/driver"
)

// Renew takes one round trip, unless somebody has his hands on one of the rows.
func (p *postgres) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if len(grants) == 0 {
		return nil, nil
	}
	result, err := renewAll(ctx, grants, p.renew)
	if err != nil {
		return nil, p.classify(ctx, renewalOf(grants), driver.Key{}, err)
	}
	return result, nil
}

// renew runs one statement for all grants.
func (p *postgres) renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	batch, err := encodeGrants(grants)
	if err != nil {
		return nil, driver.Permanent(err)
	}
	result := make([]driver.Outcome, len(grants))
	err = p.renewals.run(ctx, []any{batch}, func(args []any) error {
		return p.renewals.q.query(ctx, p.sql["renew"], args, outcomesInto(result))
	})
	return result, err
}

// outcomesInto puts the rows of renew.sql in their places.
func outcomesInto(result []driver.Outcome) func(rows) error {
	return func(r rows) error {
		for r.Next() {
			var n int
			var outcome string
			if err := r.Scan(&n, &outcome); err != nil {
				return err
			}
			result[n] = outcomes[outcome]
		}
		return nil
	}
}
