package sqllock

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
	"github.com/rowlock/rowlock/internal/sqlitefile"
)

var _ driver.HandOverer = (*Backend)(nil)

// handOver asks until it is settled whether from has become a grant to r. What stands in the way of every grant
// is not mended here: the holder releases, and whoever acquires does that.
func handOver(ctx context.Context, r driver.Request, ask func() (answer, error)) (driver.Grant, error) {
	a, err := settle(ctx, ask, nil)
	switch {
	case err != nil:
		return driver.Grant{}, err
	case a.verdict == vNotHeld:
		return driver.Grant{}, driver.ErrNotHeld
	case a.verdict != vGranted:
		return driver.Grant{}, a.held()
	}
	return driver.Grant{
		Key: r.Key, Nonce: r.Nonce, Token: driver.Token(a.token),
		TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay,
	}, nil
}

// HandOver takes one round trip.
func (p *postgres) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	args := append(handOverArgs(from, r), p.waiters.called(r.Key))
	g, err := handOver(ctx, r, func() (answer, error) {
		var a answer
		found, err := p.releases.one(ctx, "hand_over", args, a.dest()...)
		if err == nil && !found {
			err = metaMissing(p.table)
		}
		return a, err
	})
	if err == nil {
		p.waiters.handed(r.Key)
	}
	return g, p.classify(ctx, "hand over", r.Key, err)
}

// handOverArgs are the parameters of hand_over.sql of Postgres and SQLite.
func handOverArgs(from driver.Grant, r driver.Request) []any {
	return []any{
		from.Key.Namespace, from.Key.Name, from.Nonce.String(), int64(from.Token), from.MinHold.Microseconds(),
		r.Nonce.String(), r.Holder, r.Note, r.TTL.Microseconds(), r.MinHold.Microseconds(), r.HandoverDelay.Microseconds(),
	}
}

// HandOver takes one round trip, and one more if nothing was handed over.
func (m *mysql) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	s, err := m.server(ctx)
	if err != nil {
		return driver.Grant{}, m.classify(ctx, "hand over", r.Key, err)
	}
	g, err := handOver(ctx, r, func() (answer, error) { return s.reserved(false).handOver(ctx, from, r) })
	return g, m.classify(ctx, "hand over", r.Key, err)
}

func (s *mysqlServer) handOver(ctx context.Context, from driver.Grant, r driver.Request) (answer, error) {
	namespace, name, before, nonce := sqlbind.MySQLBytes(from.Key.Namespace), sqlbind.MySQLBytes(from.Key.Name), from.Nonce.String(), r.Nonce.String()
	token, minHeld, closed := int64(from.Token), from.MinHold.Microseconds(), closedFor(r)
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
		return answer{verdict: vGranted, token: begun}, err
	}
	var a answer
	found, err := s.one(ctx, "hand_over_refused", []any{nonce, before, token, closed, minHeld, namespace, name}, a.dest()...)
	if err == nil && !found {
		err = s.metaMissing()
	}
	return a, err
}

// HandOver writes at once, for the release would.
func (s *sqlite) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	g, err := handOver(ctx, r, func() (answer, error) {
		var a answer
		err := s.within(ctx, writerWait, func(conn *sql.Conn) error { return s.handOver(ctx, sqlQuerier{conn}, from, r, &a) })
		return a, err
	})
	if sqlitefile.Busy(err) && ctx.Err() == nil {
		return g, &driver.Held{Reason: driver.Contended}
	}
	return g, s.classify(ctx, "hand over", r.Key, err)
}

func (s *sqlite) handOver(ctx context.Context, q querier, from driver.Grant, r driver.Request, a *answer) error {
	granted, err := queryOne(ctx, q, s.sql["hand_over"], handOverArgs(from, r), &a.token)
	if err != nil {
		return err
	}
	if granted {
		a.verdict = vGranted
		return nil
	}
	found, err := queryOne(ctx, q, s.sql["hand_over_refused"],
		[]any{from.Key.Namespace, from.Key.Name, from.Nonce.String(), int64(from.Token), from.MinHold.Microseconds(), r.Nonce.String(), closedFor(r)}, a.dest()...)
	if err == nil && !found {
		err = metaMissing(s.table)
	}
	return err
}

func (i invalid) HandOver(context.Context, driver.Grant, driver.Request) (driver.Grant, error) {
	return driver.Grant{}, i.fail()
}
