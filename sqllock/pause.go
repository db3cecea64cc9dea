package sqllock

import (
	"context"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
)

// A pause is the row of a lease that ends in a hundred years, under a nonce that nobody renews or releases. The
// longest TTL of the table, for which nothing is granted after a change of server, does not count it.

// Pause takes one round trip.
func (p *postgres) Pause(ctx context.Context, g driver.Grant, as driver.Nonce) error {
	var done string
	found, err := p.one(ctx, "pause", []any{
		g.Key.Namespace, g.Key.Name, g.Nonce.String(), int64(g.Token), as.String(), driver.Endless.Microseconds(),
	}, &done)
	if err == nil && !found {
		return driver.ErrNotHeld
	}
	return p.classify(ctx, "pause", g.Key, err)
}

// Pause takes one round trip, and one more if there was nothing to pause.
func (m *mysql) Pause(ctx context.Context, g driver.Grant, as driver.Nonce) error {
	s, err := m.server(ctx)
	if err == nil {
		namespace, name, never := sqlbind.MySQLBytes(g.Key.Namespace), sqlbind.MySQLBytes(g.Key.Name), driver.Endless.Microseconds()
		args := []any{as.String(), never, never, namespace, name, int64(g.Token), g.Nonce.String(), as.String()}
		if !s.mariadb {
			args = append(args, namespace, name)
		}
		err = s.end(ctx, "pause", args, func() (answer, error) {
			a := answer{verdict: vNotHeld}
			_, err := s.one(ctx, "paused", []any{g.Nonce.String(), as.String(), int64(g.Token), namespace, name}, &a.verdict)
			return a, err
		})
	}
	return m.classify(ctx, "pause", g.Key, err)
}

// Pause is durable, as a grant is.
func (s *sqlite) Pause(ctx context.Context, g driver.Grant, as driver.Nonce) error {
	_, found, err := s.end(ctx, "pause", []any{
		g.Key.Namespace, g.Key.Name, g.Nonce.String(), int64(g.Token), as.String(), driver.Endless.Microseconds(),
	}, false)
	if err == nil && !found {
		return driver.ErrNotHeld
	}
	return s.classify(ctx, "pause", g.Key, err)
}

func (i invalid) Pause(context.Context, driver.Grant, driver.Nonce) error { return i.fail() }
