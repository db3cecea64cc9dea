package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// errAlone is the outcome that makes the engine send a request on its own.
var errAlone = driver.NotApplied(errors.New("the request is not part of a committed batch"))

// AcquireEach implements [driver.Batcher]. It grants all locks in one transaction, or none.
func (b *Backend) AcquireEach(ctx context.Context, requests []driver.Request) ([]driver.Grant, []error) {
	grants, errs := make([]driver.Grant, len(requests)), make([]error, len(requests))
	last, err := b.grantAll(ctx, requests, grants)
	if err == nil {
		return grants, errs
	}
	clear(grants)
	var held *driver.Held
	refusal := errors.As(err, &held)
	for i, r := range requests {
		switch {
		case refusal && i == last:
			errs[i] = held
		case refusal:
			errs[i] = errAlone
		default:
			errs[i] = b.unbatched(ctx, "acquire", r.Key, err)
		}
	}
	return grants, errs
}

// grantAll grants the requests in one transaction. After an error it has granted nothing, unless the commit failed. If a
// request is refused, the error is a [*driver.Held], and last is the index of that request.
func (b *Backend) grantAll(ctx context.Context, requests []driver.Request, grants []driver.Grant) (last int, err error) {
	for _, r := range requests {
		if r.Shared || r.Seal != "" || r.Waiting {
			return 0, errAlone
		}
	}
	if err := b.file.unreplaced(ctx, writerWait); err != nil {
		return 0, err
	}
	err = b.file.write(ctx, writing{limit: writerWait, statements: several}, func(q sqlbase.Querier) error {
		for i, r := range requests {
			var a sqlbase.Answer
			if err := b.grant(ctx, q, r, nil, &a); err != nil {
				return err
			}
			if a.Verdict != sqlbase.Granted {
				last = i
				return b.refusal(ctx, q, r)
			}
			grants[i] = sqlbase.GrantOf(r, a)
		}
		return nil
	})
	return last, err
}

// refusal reads why the request r was not granted.
func (b *Backend) refusal(ctx context.Context, q sqlbase.Querier, r driver.Request) error {
	a, err := b.lookOn(ctx, q, r, nil)
	switch {
	case err != nil:
		return err
	case a.Verdict == sqlbase.Contended || a.Verdict == sqlbase.OtherEpoch || a.Verdict == sqlbase.LongerTTL:
		return errAlone
	default:
		return a.Held()
	}
}

// ReleaseEach implements [driver.Batcher]. It releases all locks in one transaction.
func (b *Backend) ReleaseEach(ctx context.Context, grants []driver.Grant) []error {
	errs := make([]error, len(grants))
	reserved := make([]sql.NullString, len(grants))
	how := writing{limit: sqlbase.LongRetry, durability: unflushed, statements: several}
	for _, g := range grants {
		if g.Done != "" {
			how.durability = flushed
		}
	}
	err := b.file.write(ctx, how, func(q sqlbase.Querier) error {
		for i, g := range grants {
			released, err := false, error(nil)
			if !g.Shared {
				released, err = sqlbase.QueryOne(ctx, q, b.file.sql["release"], releaseArgs(g), &reserved[i])
			}
			if err != nil {
				return err
			}
			if errs[i] = nil; !released {
				errs[i] = errAlone
			}
		}
		return nil
	})
	for i, g := range grants {
		if err != nil {
			errs[i] = b.unbatched(ctx, "release", g.Key, err)
		} else {
			wakeLocal(reserved[i].String)
		}
	}
	return errs
}

// unbatched returns the outcome of a request in a batch that failed. If the batch had no effect, the error of the
// request on its own will say why.
func (b *Backend) unbatched(ctx context.Context, operation string, key driver.Key, err error) error {
	if err = b.classify(ctx, operation, key, err); driver.IsNotApplied(err) {
		return errAlone
	}
	return err
}
