package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// grantShare writes the share, unless a writer has acquired the lock first. It stores the verdict in a. The result next
// is the id of the waiter that has waited longest, or empty. That waiter may be a reader, too.
func (b *Backend) grantShare(ctx context.Context, q sqlbase.Querier, r driver.Request, w *waiter, a *sqlbase.Answer) (next string, err error) {
	var longest sql.NullString
	granted, err := sqlbase.QueryOne(ctx, q, b.file.sql["acquire_shared"], []any{
		r.Key.Namespace, r.Key.Name, r.Nonce.String(), r.Holder, r.Note, r.TTL.Microseconds(), w.param(),
	}, &a.Token, &a.Done, &longest)
	a.Verdict = sqlbase.Contended
	if granted {
		a.Verdict = sqlbase.Granted
	}
	return longest.String, err
}

// renewShares renews shares of one epoch with one statement.
func (b *Backend) renewShares(ctx context.Context, shares []driver.Grant) ([]driver.Outcome, error) {
	ttls, err := sqlbase.EncodeShares(shares)
	if err != nil {
		return nil, driver.Permanent(err)
	}
	var readers string
	var found bool
	epoch := shares[0]
	err = b.file.call(ctx, func(q sqlbase.Querier) (err error) {
		found, err = sqlbase.QueryOne(ctx, q, b.file.sql["renew_shared"],
			[]any{epoch.Key.Namespace, epoch.Key.Name, int64(epoch.Token), ttls}, &readers)
		return err
	})
	var live map[string]int64
	if err == nil && found {
		err = json.Unmarshal([]byte(readers), &live)
	}
	if err != nil {
		return nil, b.classify(ctx, sqlbase.RenewalOf(shares), driver.Key{}, err)
	}
	result := make([]driver.Outcome, len(shares))
	for i, g := range shares {
		result[i] = driver.Lost
		if _, renewed := live[g.Nonce.String()]; renewed {
			result[i] = driver.Renewed
		}
	}
	return result, nil
}

// reserveForWriter refuses later readers for a while, because the request r was refused and its caller waits. It does
// not report an error, because the next refused request repeats the statement.
func (b *Backend) reserveForWriter(ctx context.Context, r driver.Request, w *waiter) {
	b.reserved.Store(true)
	_ = b.file.write(ctx, writing{limit: writerWait, durability: unflushed}, func(q sqlbase.Querier) error {
		_, err := q.Exec(ctx, b.file.sql["reserve_for_writer"],
			r.Key.Namespace, r.Key.Name, w.param(), driver.WriterReserve.Microseconds(), r.Nonce.String())
		return err
	})
}

// forgetWriter ends the reservation of the writer with g's nonce, which has given up.
func (b *Backend) forgetWriter(ctx context.Context, g driver.Grant) error {
	return b.file.write(ctx, writing{limit: sqlbase.LongRetry, durability: unflushed}, func(q sqlbase.Querier) error {
		_, err := q.Exec(ctx, b.file.sql["forget_writer"], g.Key.Namespace, g.Key.Name, g.Nonce.String())
		return err
	})
}
