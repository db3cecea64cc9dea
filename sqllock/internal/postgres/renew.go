package postgres

import (
	"context"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// Renew takes one round trip, unless somebody has his hands on one of the rows.
func (p *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if len(grants) == 0 {
		return nil, nil
	}
	result, err := sqlbase.RenewAll(ctx, grants, p.renew)
	if err != nil {
		return nil, p.classify(ctx, sqlbase.RenewalOf(grants), driver.Key{}, err)
	}
	return result, nil
}

// renew runs one statement for all grants.
func (p *Backend) renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	batch, err := sqlbase.EncodeGrants(grants)
	if err != nil {
		return nil, driver.Permanent(err)
	}
	result := make([]driver.Outcome, len(grants))
	err = p.renewals.run(ctx, []any{batch}, func(args []any) error {
		return p.renewals.q.Query(ctx, p.sql["renew"], args, sqlbase.OutcomesInto(result))
	})
	return result, err
}
