package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlitefile"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// writerWait is how long an acquire waits for another writer of the file before it answers that the
// lock is contended. A file has one writer at a time, whatever it writes.
const writerWait = 250 * time.Millisecond

// sqlite is the dialect of SQLite 3.35 and newer.
type sqlite struct {
	db    *sql.DB
	table sqltable.Table
	sql   statements
}

func newSQLite(db *sql.DB, t sqltable.Table) *sqlite {
	return &sqlite{db: db, table: t, sql: load(t, "sqlite", `"`)}
}

// Capabilities says what lease rows in SQLite promise.
func (s *sqlite) Capabilities() driver.Capabilities {
	return driver.Capabilities{Backend: "sqllock/sqlite", Token: driver.LinearizableToken, Inspects: true}
}

func (s *sqlite) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	closedFor := max(r.TTL+r.HandoverDelay, r.MinHold)
	a, err := settle(ctx,
		func() (answer, error) { return s.ask(ctx, r, closedFor) },
		map[verdict]func() error{
			vEpoch: func() error { return s.exec(ctx, "adopt_epoch") },
			vTTL:   func() error { return s.exec(ctx, "raise_longest_ttl", closedFor.Microseconds()) },
		})
	if sqlitefile.Busy(err) && ctx.Err() == nil {
		a.verdict = vContended
		return driver.Grant{}, a.held()
	}
	if err != nil {
		return driver.Grant{}, s.classify(ctx, "acquire", r.Key, err)
	}
	if a.verdict != vGranted {
		return driver.Grant{}, a.held()
	}
	return driver.Grant{
		Key: r.Key, Nonce: r.Nonce, Token: driver.Token(a.token),
		TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay, Sealed: a.sealed,
	}, nil
}

// ask makes one attempt: it reads, and writes only if the lock looks free.
func (s *sqlite) ask(ctx context.Context, r driver.Request, closedFor time.Duration) (answer, error) {
	var a answer
	err := s.within(ctx, writerWait, func(conn *sql.Conn) error {
		q := sqlQuerier{conn}
		found, err := queryOne(ctx, q, s.sql["look"],
			[]any{r.Key.Namespace, r.Key.Name, r.Nonce.String(), closedFor.Microseconds()}, a.dest()...)
		if err != nil {
			return err
		}
		if !found {
			return metaMissing(s.table)
		}
		switch {
		case a.verdict != vContended:
			return nil
		case r.Seal != "":
			return s.grantSealed(ctx, conn, r, &a)
		default:
			return s.grant(ctx, q, r, &a)
		}
	})
	return a, err
}

// grant writes, unless somebody came in between.
func (s *sqlite) grant(ctx context.Context, q querier, r driver.Request, a *answer) error {
	granted, err := queryOne(ctx, q, s.sql["acquire"], []any{
		r.Key.Namespace, r.Key.Name, r.Nonce.String(), r.Holder, r.Note,
		r.TTL.Microseconds(), r.MinHold.Microseconds(), r.HandoverDelay.Microseconds(),
	}, &a.token)
	if granted {
		a.verdict = vGranted
	}
	return err
}

func (s *sqlite) Release(ctx context.Context, g driver.Grant) error {
	grant := []any{g.Key.Namespace, g.Key.Name, g.Nonce.String(), int64(g.Token)}
	err := ended(ctx, func(a *answer) error {
		return s.call(ctx, func(q querier) error {
			found, err := queryOne(ctx, q, s.sql["release"], append(grant, g.MinHold.Microseconds()), &a.verdict)
			if err == nil && !found {
				_, err = queryOne(ctx, q, s.sql["released_before"], grant, &a.verdict)
			}
			return err
		})
	})
	return s.classify(ctx, "release", g.Key, err)
}

// exec runs a statement that answers nothing, and that an acquire needs to be run.
func (s *sqlite) exec(ctx context.Context, verb string, args ...any) error {
	return s.within(ctx, writerWait, func(conn *sql.Conn) error {
		_, err := sqlQuerier{conn}.exec(ctx, s.sql[verb], args...)
		return err
	})
}

// call runs work on a connection, and again while the file is busy, until ctx's deadline is near.
func (s *sqlite) call(ctx context.Context, work func(querier) error) error {
	return s.within(ctx, longRetry, func(conn *sql.Conn) error { return work(sqlQuerier{conn}) })
}

func (s *sqlite) within(ctx context.Context, limit time.Duration, work func(*sql.Conn) error) error {
	return retryWithin(ctx, limit, sqlitefile.Busy, func() error { return s.once(ctx, work) })
}

// once runs work on a connection that soon answers when the file is busy.
func (s *sqlite) once(ctx context.Context, work func(*sql.Conn) error) (err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return driver.NotApplied(err)
	}
	defer conn.Close() //nolint:errcheck // back to the pool, which reports nothing of use
	restore, err := withBusySlice(ctx, sqlQuerier{conn})
	if err != nil {
		return driver.NotApplied(err)
	}
	defer func() { err = errors.Join(err, restore()) }()
	return work(conn)
}
