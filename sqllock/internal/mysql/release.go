package mysql

import (
	"context"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// Release ends the grant g. It takes one round trip, and one more if there was nothing to release. While another
// transaction has locked the row, Release retries for at most one second on MySQL. On MariaDB the statement waits on
// the server instead.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	s, err := b.releases(ctx)
	if err != nil {
		return b.classify(ctx, "release", g.Key, err)
	}
	if g.Shared {
		return b.classify(ctx, "release", g.Key, b.releaseShare(ctx, s, g))
	}
	if g.Token == 0 && b.reserved.Load() {
		if err := forgetWriter(ctx, s, g); err != nil {
			return b.classify(ctx, "release", g.Key, err)
		}
	}
	namespace, name := encoded(g.Key)
	nonce, token := g.Nonce.String(), int64(g.Token)
	err = s.end(ctx, "release", g.Key, releaseArgs(s, g), func(a *sqlbase.Answer) (bool, error) {
		return s.queryRow(ctx, "released_before", []any{token, token, nonce, token, namespace, name}, &a.Verdict)
	})
	return b.classify(ctx, "release", g.Key, err)
}

// releaseArgs returns the parameters of release.sql.
func releaseArgs(s *server, g driver.Grant) []any {
	namespace, name := encoded(g.Key)
	nonce, token, minHold := g.Nonce.String(), int64(g.Token), g.MinHold.Microseconds()
	tick := sqlbase.Tick(g)
	tick.String = sqlbind.MySQLText(tick.String)
	if s.mariadb {
		return []any{minHold, minHold, minHold, tick, namespace, name, nonce, token}
	}
	return []any{namespace, name, nonce, token, minHold, minHold, minHold, tick}
}

// HandOver replaces the grant in the parameter from with a grant to r. It takes one round trip, and one more if nothing
// was handed over.
func (b *Backend) HandOver(ctx context.Context, from driver.Grant, r driver.Request) (driver.Grant, error) {
	s, err := b.releases(ctx)
	if err != nil {
		return driver.Grant{}, b.classify(ctx, "hand over", r.Key, err)
	}
	g, err := sqlbase.HandOver(ctx, r, func() (sqlbase.Answer, error) { return b.handOver(ctx, s, from, r) })
	return g, b.classify(ctx, "hand over", r.Key, err)
}

func (b *Backend) handOver(ctx context.Context, s *server, from driver.Grant, r driver.Request) (a sqlbase.Answer, err error) {
	a, granted, err := b.attempt(ctx, s, r, "hand_over", handOverArgs(s, from, r))
	if err != nil || granted {
		return a, err
	}
	namespace, name := encoded(from.Key)
	found, err := s.queryRow(ctx, "hand_over_refused", []any{
		r.Nonce.String(), from.Nonce.String(), int64(from.Token), sqlbase.ClosedFor(r), from.MinHold.Microseconds(), namespace, name,
	}, a.Dest()...)
	if err == nil && !found {
		err = sqlbase.MetaMissing(b.table)
	}
	return a, err
}

// handOverArgs returns the parameters of hand_over.sql.
func handOverArgs(s *server, from driver.Grant, r driver.Request) []any {
	namespace, name := encoded(from.Key)
	before, nonce := from.Nonce.String(), r.Nonce.String()
	token, minHeld, closedFor := int64(from.Token), from.MinHold.Microseconds(), sqlbase.ClosedFor(r)
	holder, note := sqlbind.MySQLText(r.Holder), sqlbind.MySQLText(r.Note)
	ttl, expiry, minHold := r.TTL.Microseconds(), (r.TTL + r.HandoverDelay).Microseconds(), r.MinHold.Microseconds()
	if s.mariadb {
		return []any{
			nonce, nonce, nonce, holder, note, ttl, expiry, minHold,
			namespace, name, nonce, before, token, minHeld, closedFor,
		}
	}
	return []any{
		closedFor, namespace, name, nonce, before, token, minHeld,
		nonce, nonce, holder, note, nonce, ttl, expiry, nonce, minHold,
	}
}
