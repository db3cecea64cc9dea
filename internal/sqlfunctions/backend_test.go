package sqlfunctions_test

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
)

// backend is a driver.Backend that calls the functions of the migrations, as a program without rowlock would.
type backend struct{ db *sql.DB }

var _ driver.Backend = (*backend)(nil)

func (*backend) Capabilities() driver.Capabilities {
	return driver.Capabilities{Backend: "sqllock/postgres", Token: driver.LinearizableToken}
}

func interval(d time.Duration) string { return fmt.Sprintf("%d microseconds", d.Microseconds()) }

var reasons = map[string]driver.Reason{
	"leased": driver.Leased, "min hold": driver.MinHold, "handover": driver.Handover, "quarantine": driver.Quarantine,
	"contended": driver.Contended, "reserved": driver.Reserved, "paused": driver.Paused,
}

// refused marks an error of the server that says that the statement had no effect.
func refused(err error) error {
	if err != nil && sqlerror.State(err) != "" {
		return driver.NotApplied(err)
	}
	return err
}

func (b *backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	var verdict string
	var token, freeIn int64
	held := &driver.Held{}
	var since float64
	err := b.db.QueryRowContext(ctx, `
		SELECT a.verdict, a.token, coalesce(a.held_by, ''), coalesce((extract(epoch FROM a.free_in) * 1e6)::bigint, 0),
		       coalesce(l.note, ''), coalesce(extract(epoch FROM clock_timestamp() - l.since)::float8, 0)
		  FROM rowlock_lease_try_acquire($1, $2::interval, $3, $4, $5, $6) a
		  LEFT JOIN rowlock_lease_locks l ON l.namespace = $6 AND l.name = $1`,
		r.Key.Name, interval(r.TTL), r.Holder, r.Note, r.Nonce.String(), r.Key.Namespace).
		Scan(&verdict, &token, &held.Holder, &freeIn, &held.Note, &since)
	if err != nil {
		return driver.Grant{}, refused(err)
	}
	if verdict != "granted" {
		held.Reason, held.Token, held.ExpiresIn = reasons[verdict], driver.Token(token), time.Duration(freeIn)*time.Microsecond
		held.Since = time.Duration(since * float64(time.Second))
		return driver.Grant{}, held
	}
	return driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: driver.Token(token), TTL: r.TTL}, nil
}

// Renew sends one statement for all grants. If another session has locked the row of one of them, the statement fails,
// and Renew sends one statement for each grant.
func (b *backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	outcomes, err := b.renew(ctx, grants)
	if sqlerror.State(err) != "55P03" {
		return outcomes, err
	}
	outcomes = make([]driver.Outcome, len(grants))
	for i := range grants {
		one, err := b.renew(ctx, grants[i:i+1])
		if err == nil {
			outcomes[i] = one[0]
		}
	}
	return outcomes, nil
}

func (b *backend) renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	var names, nonces, ttls, namespaces []string
	var tokens []int64
	for _, g := range grants {
		names, nonces, ttls, namespaces = append(names, g.Key.Name), append(nonces, g.Nonce.String()), append(ttls, interval(g.TTL)), append(namespaces, g.Key.Namespace)
		tokens = append(tokens, int64(g.Token))
	}
	rows, err := b.db.QueryContext(ctx, `SELECT g.n, rowlock_lease_renew(g.name, g.nonce, g.token, g.ttl, g.namespace)
		FROM unnest($1::text[], $2::uuid[], $3::bigint[], $4::interval[], $5::text[]) WITH ORDINALITY g(name, nonce, token, ttl, namespace, n)`,
		names, nonces, tokens, ttls, namespaces)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	outcomes := make([]driver.Outcome, len(grants))
	for rows.Next() {
		var n int
		var renewed bool
		if err := rows.Scan(&n, &renewed); err != nil {
			return nil, err
		}
		outcomes[n-1] = driver.Lost
		if renewed {
			outcomes[n-1] = driver.Renewed
		}
	}
	return outcomes, rows.Err()
}

func (b *backend) Release(ctx context.Context, g driver.Grant) error {
	var released bool
	err := b.db.QueryRowContext(ctx, "SELECT rowlock_lease_release($1, $2, $3, $4)",
		g.Key.Name, g.Nonce.String(), int64(g.Token), g.Key.Namespace).Scan(&released)
	if err == nil && !released {
		return driver.ErrNotHeld
	}
	return err
}
