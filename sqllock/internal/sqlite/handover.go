package sqlite

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlitefile"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// HandOver writes at once, for the release would.
func (s *Backend) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	g, err := sqlbase.HandOver(ctx, r, func() (sqlbase.Answer, error) {
		var a sqlbase.Answer
		err := s.within(ctx, writerWait, func(conn *sql.Conn) error { return s.handOver(ctx, sqlbase.On(conn), from, r, &a) })
		return a, err
	})
	if sqlitefile.Busy(err) && ctx.Err() == nil {
		return g, &driver.Held{Reason: driver.Contended}
	}
	return g, s.classify(ctx, "hand over", r.Key, err)
}

func (s *Backend) handOver(ctx context.Context, q sqlbase.Querier, from driver.Grant, r driver.Request, a *sqlbase.Answer) error {
	granted, err := sqlbase.QueryOne(ctx, q, s.sql["hand_over"], sqlbase.HandOverArgs(from, r), &a.Token)
	if err != nil {
		return err
	}
	if granted {
		a.Verdict = sqlbase.Granted
		return nil
	}
	found, err := sqlbase.QueryOne(ctx, q, s.sql["hand_over_refused"],
		[]any{from.Key.Namespace, from.Key.Name, from.Nonce.String(), int64(from.Token), from.MinHold.Microseconds(), r.Nonce.String(), sqlbase.ClosedFor(r)}, a.Dest()...)
	if err == nil && !found {
		err = sqlbase.MetaMissing(s.table)
	}
	return err
}
