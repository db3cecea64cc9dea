package mysql

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/internal/sqlbind"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// sharePatience is how long a request for a share or a renewal of shares is retried while other statements have locked
// the row. All readers of a lock change the same row, so a reader finds the row locked more often than a writer.
const sharePatience = 100 * time.Millisecond

// sharePath returns the path of a share in the JSON object of the column readers.
func sharePath(n driver.Nonce) string { return `$."` + n.String() + `"` }

// settleShare calls the function settle, which requests a share, and repeats the call while the row is locked, for at
// most sharePatience.
func settleShare(ctx context.Context, settle func() (sqlbase.Answer, error)) (a sqlbase.Answer, err error) {
	for end := time.Now().Add(sharePatience); ; {
		a, err = settle()
		if err != nil || a.Verdict != sqlbase.Contended || time.Now().After(end) || !backoff.Sleep(ctx, backoff.Jitter(shareDelay)) {
			return a, err
		}
	}
}

// shareDelay is the delay between two attempts of settleShare or reserveForWriter, without jitter.
const shareDelay = 2 * time.Millisecond

// acquireSharedArgs returns the parameters of acquire_shared.sql.
func (b *Backend) acquireSharedArgs(s *server, r driver.Request, known metaRow) []any {
	namespace, name := encoded(r.Key)
	nonce, path, waiter := r.Nonce.String(), sharePath(r.Nonce), b.waiters.process
	holder, note, ttl := sqlbind.MySQLText(r.Holder), sqlbind.MySQLText(r.Note), r.TTL.Microseconds()
	if s.mariadb {
		return []any{
			known.floor, known.floor, holder, note, ttl, waiter, waiter, path, ttl, nonce, ttl, ttl,
			namespace, name, waiter, path, known.epoch,
		}
	}
	return []any{
		namespace, name, waiter, path, known.epoch,
		path, ttl, nonce, ttl, known.floor, known.floor, holder, note, ttl, ttl, waiter, waiter,
	}
}

// insertSharedArgs returns the parameters of insert_shared.sql, which inserts the missing row of a lock with one share.
func insertSharedArgs(s *server, r driver.Request) []any {
	namespace, name := encoded(r.Key)
	ttl := r.TTL.Microseconds()
	return s.skipLocked(r.Key, []any{
		namespace, name, sqlbind.MySQLText(r.Holder), sqlbind.MySQLText(r.Note), ttl, ttl, r.Nonce.String(), ttl, ttl,
	})
}

// reserveForWriter records that the writer r waits for the readers of its lock. It makes a few attempts while the row is
// locked. It does not report an error, because the writer repeats its request soon.
func reserveForWriter(ctx context.Context, s *server, r driver.Request) {
	namespace, name := encoded(r.Key)
	nonce := r.Nonce.String()
	args := s.skipLocked(r.Key, []any{nonce, nonce, nonce, driver.WriterReserve.Microseconds(), namespace, name})
	for range 5 {
		if done, err := s.q.Exec(ctx, s.sql["reserve_for_writer"], args...); done.Affected > 0 || err != nil && !transient(err) {
			return
		}
		if !backoff.Sleep(ctx, backoff.Jitter(shareDelay)) {
			return
		}
	}
}

// forgetWriter ends the reservation of the writer with g's nonce, which has given up.
func forgetWriter(ctx context.Context, s *server, g driver.Grant) error {
	namespace, name := encoded(g.Key)
	nonce := g.Nonce.String()
	err := s.end(ctx, "forget_writer", g.Key, s.skipLocked(g.Key, []any{nonce, nonce, namespace, name, nonce}), func(a *sqlbase.Answer) (bool, error) {
		return s.queryRow(ctx, "writer_forgotten", []any{nonce, namespace, name}, &a.Verdict)
	})
	if errors.Is(err, driver.ErrNotHeld) { // the writer has reserved nothing
		return nil
	}
	return err
}

// dropExpired removes the expired shares from the row of key. It does not report an error, because expired shares have
// no effect except on the size of the row.
func dropExpired(ctx context.Context, s *server, key driver.Key) {
	namespace, name := encoded(key)
	_, _ = s.q.Exec(ctx, s.sql["drop_expired"], s.skipLocked(key, []any{namespace, name})...)
}

// renewShares renews the shares of one epoch. It takes one round trip if no share has ended. Otherwise a second
// statement reads which shares have ended, and the outcome of the others is unknown: the caller repeats their renewal.
func renewShares(ctx context.Context, s *server, shares []driver.Grant) ([]driver.Outcome, error) {
	batch := sqlbase.EncodeGrants(encodedKeys(shares))
	var longest time.Duration
	for _, g := range shares {
		longest = max(longest, g.TTL)
	}
	key, token := shares[0].Key, int64(shares[0].Token)
	namespace, name := encoded(key)
	ttl := longest.Microseconds()
	args := s.skipLocked(key, []any{batch, ttl, ttl, namespace, name, token, batch})
	result := make([]driver.Outcome, len(shares))
	again := func(err error) bool { return errors.Is(err, errRowLocked) || transient(err) }
	err := sqlbase.RetryWithin(ctx, sharePatience, again, func() error {
		done, err := s.q.Exec(ctx, s.sql["renew_shared"], args...)
		if err != nil {
			return err
		}
		if done.Affected > 0 { // the server counts only rows whose values change, and a renewal changes the expiry of each share
			for i := range result {
				result[i] = driver.Renewed
			}
			return nil
		}
		err = s.q.Query(ctx, s.sql["renewed_shared"], []any{batch, namespace, name, token}, sqlbase.SharedOutcomesInto(shares, result))
		for _, outcome := range result {
			if outcome == driver.Lost {
				return err
			}
		}
		return oneline.Join(err, errRowLocked)
	})
	if errors.Is(err, errRowLocked) || sqlerror.MySQL(err) == rowLockTimeout {
		return make([]driver.Outcome, len(shares)), nil
	}
	return result, err
}

// releaseShare ends the share g, like [Backend.Release].
func (b *Backend) releaseShare(ctx context.Context, s *server, g driver.Grant) error {
	namespace, name := encoded(g.Key)
	path, token := sharePath(g.Nonce), int64(g.Token)
	args := s.skipLocked(g.Key, []any{path, path, namespace, name, token, path})
	return s.end(ctx, "release_shared", g.Key, args, func(a *sqlbase.Answer) (bool, error) {
		return s.queryRow(ctx, "share_released_before", []any{token, path, token, token, namespace, name}, &a.Verdict)
	})
}
