package mysql

import (
	"context"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// HandOver takes one round trip, and one more if nothing was handed over.
func (m *Backend) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	s, err := m.server(ctx)
	if err != nil {
		return driver.Grant{}, m.classify(ctx, "hand over", r.Key, err)
	}
	g, err := sqlbase.HandOver(ctx, r, func() (sqlbase.Answer, error) { return s.forReleases().handOver(ctx, from, r) })
	return g, m.classify(ctx, "hand over", r.Key, err)
}

func (s *server) handOver(ctx context.Context, from driver.Grant, r driver.Request) (sqlbase.Answer, error) {
	namespace, name, before, nonce := sqlbind.MySQLBytes(from.Key.Namespace), sqlbind.MySQLBytes(from.Key.Name), from.Nonce.String(), r.Nonce.String()
	token, minHeld, closed := int64(from.Token), from.MinHold.Microseconds(), sqlbase.ClosedFor(r)
	args := []any{
		nonce, nonce, nonce, sqlbind.MySQLText(r.Holder), sqlbind.MySQLText(r.Note),
		r.TTL.Microseconds(), (r.TTL + r.HandoverDelay).Microseconds(), r.MinHold.Microseconds(),
		namespace, name, nonce, before, token, minHeld,
	}
	if !s.mariadb {
		args = append(args, namespace, name, nonce, before)
	}
	begun, err := s.attempt(ctx, r, "hand_over", append(args, closed))
	if err != nil || begun != 0 {
		return sqlbase.Answer{Verdict: sqlbase.Granted, Token: begun}, err
	}
	var a sqlbase.Answer
	found, err := s.one(ctx, "hand_over_refused", []any{nonce, before, token, closed, minHeld, namespace, name}, a.Dest()...)
	if err == nil && !found {
		err = s.metaMissing()
	}
	return a, err
}
