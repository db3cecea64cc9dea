// Package mysql keeps locks as lease rows in MySQL and MariaDB.
package mysql

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// Backend keeps locks in MySQL 8.0 or MariaDB 10.6, or a newer version of either. It implements [driver.Backend],
// [driver.HandOverer], [driver.Notifier], [driver.Idler] and, in operator.go, [driver.Operator].
type Backend struct {
	db       *sql.DB
	table    sqltable.Table
	q        *preparedQuerier // sends statements through the pool db
	reserve  *sqlbase.Reserve
	warnings []string // the settings of db that weaken the promises of locks

	detected atomic.Pointer[server]   // nil before the first call that reached the server
	meta     atomic.Pointer[metaSeen] // an earlier read of the meta row; nil if grants must not rely on an earlier read
	waiters  *waiters
	reserved atomic.Bool // true if a request of this process has reserved a lock for a writer
}

// New returns a backend that keeps locks in table t of db's database. New sends nothing to the server.
func New(db *sql.DB, t sqltable.Table) *Backend {
	b := &Backend{
		db: db, table: t, q: newPreparedQuerier(db), warnings: sqlbase.WarningsOf(db),
		reserve: sqlbase.ReserveFor(db, func(one *sql.DB) sqlbase.Querier { return newPreparedQuerier(one) }),
	}
	b.waiters = newWaiters(db, b.server)
	// A backend has no Close method, and a prepared statement lives as long as the pool. So a cleanup closes the
	// statements when the backend is garbage-collected.
	runtime.AddCleanup(b, (*preparedQuerier).close, b.q)
	return b
}

// Capabilities returns the guarantees of lease rows in MySQL and MariaDB.
func (b *Backend) Capabilities() driver.Capabilities {
	c := driver.Capabilities{
		Backend: "sqllock/mysql", Token: driver.LinearizableToken, Wakes: b.waiters.ear.hears(), Shares: true, Pauses: true, Ticks: true,
	}
	c.Warnings = slices.Clip(b.warnings)
	if s := b.detected.Load(); s != nil && s.forbidden.Load() {
		c.Warnings = append(c.Warnings, "waiters of another database user poll, because this user may not end the statement in which they sleep: let all processes connect as the same user, or grant CONNECTION_ADMIN")
	}
	return c
}

// CloseIdle implements [driver.Idler]: it closes the connections outside the pool that are not in use. Before that, it
// wakes the waiters of released locks again.
func (b *Backend) CloseIdle(ctx context.Context) {
	if s := b.detected.Load(); s != nil {
		s.watches.closeIdle(ctx)
	}
	b.waiters.ear.closeIdle(ctx)
	b.reserve.CloseIdle(ctx)
}

// SetIdle sets how long an unused additional connection stays open. Only tests call this method, before they use b.
func (b *Backend) SetIdle(d time.Duration) { b.reserve.SetIdle(d) }

// server returns the server that the pool connects to. The first call that succeeds detects the kind of server.
func (b *Backend) server(ctx context.Context) (*server, error) {
	if s := b.detected.Load(); s != nil {
		return s, nil
	}
	s, err := detect(ctx, b.db, b.q, b.table)
	if err == nil {
		b.detected.Store(s)
	}
	return s, err
}

// renewals returns the server for renewals. While every connection of the pool is in use, this server sends statements
// through the reserve, an additional connection.
func (b *Backend) renewals(ctx context.Context) (*server, error) {
	s, err := b.server(ctx)
	if err != nil {
		return nil, err
	}
	return s.through(b.reserve.ForRenewals(b.q, b.usage)), nil
}

// releases returns the server for releases. It uses the reserve as the method renewals does, but a renewal gets the
// reserve before a release.
func (b *Backend) releases(ctx context.Context) (*server, error) {
	s, err := b.server(ctx)
	if err != nil {
		return nil, err
	}
	return s.through(b.reserve.ForReleases(b.q, b.usage)), nil
}

func (b *Backend) usage() sqlbase.Usage { return sqlbase.UsageOf(b.db) }

// Acquire makes one attempt. It takes one round trip if the lock is granted and two if it is refused, because no MySQL
// statement both changes a row and returns one. For a waiter that no release has called, or if the backend's last result
// of look.sql is too old, Acquire runs look.sql first, which takes one more round trip. If the lock's row contains a tick
// (see [driver.Grant]), a grant takes one more round trip to read the tick.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	s, err := b.server(ctx)
	if err != nil {
		return driver.Grant{}, b.classify(ctx, "acquire", r.Key, err)
	}
	called := notCalled
	if r.Waiting {
		called = b.waiters.takeCall(r.Key)
	}
	known := b.meta.Load()
	if r.Waiting && called != concerns || !known.covers(r, time.Now()) {
		known = nil
	}
	var last looked
	once := func() (sqlbase.Answer, error) {
		return sqlbase.Settle(ctx, func() (sqlbase.Answer, error) {
			last, err = b.ask(ctx, s, r, known)
			known = nil // nil makes a second attempt run look.sql first
			return last.Answer, err
		}, mends(ctx, s, sqlbase.ClosedFor(r)))
	}
	settle := once
	if r.Shared {
		settle = func() (sqlbase.Answer, error) { return settleShare(ctx, once) }
	}
	a, err := settle()
	if err == nil && a.Verdict != sqlbase.Granted && last.mustQueue && b.waiters.mayEnqueue(r) {
		if b.waiters.enqueue(ctx, s, r.Key) {
			last.queued = true
		} else {
			a, err = settle() // the lock may have become free
		}
	}
	if err != nil {
		return driver.Grant{}, b.classify(ctx, "acquire", r.Key, err)
	}
	if a.Verdict != sqlbase.Granted {
		if r.Waits && last.mustReserve {
			b.reserved.Store(true)
			reserveForWriter(ctx, s, r)
		}
		held := a.Held()
		held.Listed = b.waiters.listed(r, a, last.queued)
		return driver.Grant{}, held
	}
	if b.waiters.granted(r, called) && r.Shared {
		b.waiters.callNext(ctx, s, r.Key)
	}
	return sqlbase.GrantOf(r, a), nil
}

// noAutocommit is the verdict of look.sql if autocommit is off, so that the session would not commit a grant.
const noAutocommit sqlbase.Verdict = "no autocommit"

var errNoAutocommit = errors.New("autocommit is off in the session: locks need a pool with autocommit on")

// Some verdicts of look.sql say that the server cannot grant any lock yet. mends returns a function for each of these
// verdicts, which removes the obstacle or returns an error. For example, the verdict OtherEpoch means that the meta row
// belongs to another server, and its function stores the identity of this server. The parameter closedFor is the time,
// in microseconds, for which the grant could keep the lock unavailable.
func mends(ctx context.Context, s *server, closedFor int64) map[sqlbase.Verdict]func() error {
	return map[sqlbase.Verdict]func() error{
		sqlbase.OtherEpoch: func() error {
			_, err := s.exec(ctx, "adopt_epoch")
			return err
		},
		sqlbase.LongerTTL: func() error {
			_, err := s.exec(ctx, "raise_longest_ttl", closedFor)
			return err
		},
		noAutocommit: func() error { return driver.Permanent(errNoAutocommit) },
	}
}

// ask makes one attempt to acquire the lock. If the lock is not granted, the method reads the reason. If the parameter
// known is nil, the method runs look.sql before the attempt.
func (b *Backend) ask(ctx context.Context, s *server, r driver.Request, known *metaSeen) (a looked, err error) {
	if known != nil {
		a = looked{Answer: sqlbase.Answer{Verdict: sqlbase.Contended}, metaRow: known.metaRow}
	} else if a, err = b.look(ctx, s, r); err != nil {
		return a, err
	}
	if a.Verdict == sqlbase.Contended {
		verb, args := "acquire", b.acquireArgs
		if r.Shared {
			verb, args = "acquire_shared", b.acquireSharedArgs
		}
		grant, granted, err := b.attempt(ctx, s, r, verb, args(s, r, a.metaRow))
		if err != nil || granted {
			return looked{Answer: grant}, err
		}
		if a, err = b.look(ctx, s, r); err != nil {
			return a, err
		}
	}
	if a.Verdict == sqlbase.Missing {
		verb, args := "insert", insertArgs
		if r.Shared {
			verb, args = "insert_shared", insertSharedArgs
		}
		grant, granted, err := b.attempt(ctx, s, r, verb, args(s, r))
		if err != nil || granted {
			return looked{Answer: grant}, err
		}
		a.Verdict = sqlbase.Contended
	}
	return a, nil
}

// look runs look.sql, which reads why a lock is not granted. It stores the meta row, on which later grants may rely.
func (b *Backend) look(ctx context.Context, s *server, r driver.Request) (a looked, err error) {
	namespace, name := encoded(r.Key)
	waiter, closedFor, sent := b.waiters.process, sqlbase.ClosedFor(r), time.Now()
	found, err := s.queryRow(ctx, "look", []any{
		sqlbase.Flag(r.Shared), closedFor, r.Nonce.String(), sharePath(r.Nonce), r.Nonce.String(), waiter, waiter, namespace, name,
	}, a.dest()...)
	if err != nil {
		return a, err
	}
	if !found {
		return a, sqlbase.MetaMissing(b.table)
	}
	if err := a.countShares(); err != nil {
		return a, driver.NotApplied(err)
	}
	if r.Shared && a.expired > 0 && a.Verdict == sqlbase.Contended {
		dropExpired(ctx, s, r.Key)
	}
	switch a.Verdict {
	case sqlbase.Contended, sqlbase.Missing:
		b.meta.Store(&metaSeen{metaRow: a.metaRow, closedFor: closedFor, asked: sent})
	case sqlbase.OtherEpoch, sqlbase.Quarantine:
		b.meta.Store(nil)
	}
	return a, nil
}

// attempt runs a statement that grants r, and returns the token and the last recorded tick. Nothing is granted if
// another session has locked the row or has acquired the lock first. If the row contains a tick, LAST_INSERT_ID is
// negative, and attempt reads the token and the tick from the row. It also does so if a trigger on the table has hidden
// LAST_INSERT_ID.
func (b *Backend) attempt(ctx context.Context, s *server, r driver.Request, verb string, args []any) (a sqlbase.Answer, granted bool, err error) {
	a.Verdict = sqlbase.Granted
	var done sqlbase.Result
	err = s.retry(ctx, func() (err error) {
		done, err = s.send(ctx, verb, args...)
		switch n := sqlerror.MySQL(err); {
		case n == duplicateKey, n == rowLockedNoWait, n == rowLockTimeout && s.mariadb:
			done, err = sqlbase.Result{}, nil
		}
		return err
	})
	if err != nil || done.Affected == 0 && done.LastID == 0 {
		return a, false, err
	}
	if a.Token = done.LastID; a.Token > 0 {
		return a, true, nil
	}
	return readGrant(ctx, s, r)
}

// readGrant reads the token and the last recorded tick of the grant to r, and whether there is such a grant.
func readGrant(ctx context.Context, s *server, r driver.Request) (a sqlbase.Answer, granted bool, err error) {
	a.Verdict = sqlbase.Granted
	namespace, name := encoded(r.Key)
	granted, err = s.queryRow(ctx, "granted", []any{namespace, name, r.Nonce.String(), sharePath(r.Nonce)}, &a.Token, &a.Done)
	if err != nil {
		err = fmt.Errorf("read the new grant: %s", err) //nolint:errorlint // the error of this read must not say that the grant had no effect
	}
	return a, granted, err
}

// acquireArgs returns the parameters of acquire.sql.
func (b *Backend) acquireArgs(s *server, r driver.Request, known metaRow) []any {
	namespace, name := encoded(r.Key)
	nonce, waiter := r.Nonce.String(), b.waiters.process
	holder, note := sqlbind.MySQLText(r.Holder), sqlbind.MySQLText(r.Note)
	ttl, closedFor, minHold := r.TTL.Microseconds(), (r.TTL + r.HandoverDelay).Microseconds(), r.MinHold.Microseconds()
	if s.mariadb {
		return []any{
			closedFor, nonce, minHold, nonce, known.floor, nonce, nonce, holder, note, ttl, waiter, waiter,
			namespace, name, nonce, waiter, known.epoch,
		}
	}
	return []any{
		namespace, name, nonce, waiter, known.epoch,
		nonce, known.floor, nonce, holder, note, nonce, ttl, closedFor, nonce, minHold, waiter, waiter,
	}
}

// insertArgs returns the parameters of insert.sql, which inserts the missing row of a lock.
func insertArgs(s *server, r driver.Request) []any {
	namespace, name := encoded(r.Key)
	closedFor := sqlbase.ClosedFor(r)
	return s.skipLocked(r.Key, []any{
		namespace, name, r.Nonce.String(), sqlbind.MySQLText(r.Holder), sqlbind.MySQLText(r.Note),
		r.TTL.Microseconds(), closedFor, closedFor,
	})
}

// renewBytes is the largest size of the JSON parameter of renew.sql. A thousand grants with names of 30 bytes fit
// into this size. A server refuses a statement that is longer than max_allowed_packet, which is 1 MB on some servers.
const renewBytes = 240 << 10

// Renew takes one round trip for each batch. If some grants of a batch were not renewed, it takes a second round trip
// to read the outcome of each grant.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	if len(grants) == 0 {
		return nil, nil
	}
	s, err := b.renewals(ctx)
	if err != nil {
		return nil, b.classify(ctx, sqlbase.RenewalOf(grants), driver.Key{}, err)
	}
	var result []driver.Outcome
	for rest := grants; len(rest) > 0; {
		part := rest[:fitting(rest)]
		rest = rest[len(part):]
		outcomes, err := sqlbase.RenewAll(ctx, part, func(ctx context.Context, part []driver.Grant) ([]driver.Outcome, error) {
			return sqlbase.RenewEach(ctx, part, func(ctx context.Context, part []driver.Grant) ([]driver.Outcome, error) {
				return renew(ctx, s, part)
			}, func(ctx context.Context, part []driver.Grant) ([]driver.Outcome, error) {
				return renewShares(ctx, s, part)
			})
		})
		if err != nil && result == nil {
			return nil, b.classify(ctx, sqlbase.RenewalOf(grants), driver.Key{}, err)
		}
		if err != nil { // the outcomes of earlier batches are known; all others stay unknown
			return append(result, make([]driver.Outcome, len(grants)-len(result))...), nil
		}
		result = append(result, outcomes...)
	}
	return result, nil
}

// fitting returns how many grants, from the start of the list, fit into one statement.
func fitting(grants []driver.Grant) (n int) {
	const others = 210 // the largest size of the other fields of a grant in JSON, in bytes
	size := 0
	for ; n < len(grants); n++ {
		key := grants[n].Key
		size += base64.StdEncoding.EncodedLen(len(key.Namespace)) + base64.StdEncoding.EncodedLen(len(key.Name)) + others
		if size > renewBytes && n > 0 {
			break
		}
	}
	return n
}

// renew renews the grants with one statement. If some grants were not renewed, a second statement reads the outcome
// of each grant.
func renew(ctx context.Context, s *server, grants []driver.Grant) ([]driver.Outcome, error) {
	batch := sqlbase.EncodeGrants(encodedKeys(grants))
	done, err := s.exec(ctx, "renew", batch)
	if err != nil {
		return nil, err
	}
	result := make([]driver.Outcome, len(grants))
	if int(done.Affected) == len(grants) {
		for i := range result {
			result[i] = driver.Renewed
		}
		return result, nil
	}
	for i := range result {
		result[i] = driver.Unknown // a grant without a row in the result keeps this outcome
	}
	err = s.retry(ctx, func() error {
		return s.q.Query(ctx, s.sql["renewed"], []any{done.LastID, batch}, sqlbase.OutcomesInto(result))
	})
	return result, err
}

// Notify records that this process waits for key, and sends nothing. When an attempt is refused later, Acquire adds
// this process to the queue of key. A release then reserves the lock for the first process of the queue, and wakes that
// process. If a lease expires, no waiter is woken.
func (b *Backend) Notify(_ context.Context, key driver.Key, wake func()) (stop func(), err error) {
	c := &caller{wake}
	b.waiters.join(key, c)
	return func() {
		if !b.waiters.leave(key, c) {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
		defer cancel()
		if s, err := b.server(ctx); err == nil {
			b.waiters.dequeue(ctx, s, key)
		}
	}, nil
}
