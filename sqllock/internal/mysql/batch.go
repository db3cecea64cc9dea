package mysql

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlbind"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// mostTogether is how many locks one statement can grant or release. The statements have that many parameters for each
// value. With a JSON array instead, MariaDB created a temporary table on disk.
const mostTogether = 8

// errAlone is the outcome that makes the engine send a request on its own.
var errAlone = driver.NotApplied(errors.New("the request needs a statement of its own"))

// AcquireEach implements [driver.Batcher]. One statement grants the locks, with the same token. It does not grant a lock
// that needs more than that, because the lock has no row yet, or because its row contains a tick. If a lock was not
// granted, AcquireEach reads why. When it has found a lock that is held, it reads no further.
func (b *Backend) AcquireEach(ctx context.Context, requests []driver.Request) ([]driver.Grant, []error) {
	grants, errs := make([]driver.Grant, len(requests)), make([]error, len(requests))
	s, done, err := b.grantAll(ctx, requests)
	explained := err != nil
	for i, r := range requests {
		a, granted, err := sqlbase.Answer{Token: done.LastID}, int(done.Affected) == len(requests), err
		if done.Affected > 0 && (!granted || a.Token <= 0) { // some locks are not granted, or a trigger has hidden the token
			a, granted, err = readGrant(ctx, s, r)
		}
		switch {
		case err != nil:
			errs[i] = b.unbatched(ctx, "acquire", r.Key, err)
		case granted:
			grants[i] = sqlbase.GrantOf(r, a)
		case explained:
			errs[i] = errAlone
		default:
			explained, errs[i] = b.refusal(ctx, s, r)
		}
	}
	return grants, errs
}

// refusal reads why r was not granted. The result explained is false if the lock can be granted.
func (b *Backend) refusal(ctx context.Context, s *server, r driver.Request) (explained bool, err error) {
	a, err := b.look(ctx, s, r)
	switch {
	case err == nil && a.Verdict == sqlbase.Contended:
		return false, errAlone
	case err != nil || a.Verdict == sqlbase.Missing || a.Verdict == sqlbase.OtherEpoch || a.Verdict == sqlbase.LongerTTL || a.Verdict == noAutocommit:
		return true, errAlone
	default:
		return true, a.Held()
	}
}

// grantAll runs acquire_each.sql on the server s.
func (b *Backend) grantAll(ctx context.Context, requests []driver.Request) (s *server, done sqlbase.Result, err error) {
	first := requests[0]
	for _, r := range requests {
		alike := first
		alike.Key.Name, alike.Nonce = r.Key.Name, r.Nonce
		if r != alike || r.Shared || r.Waiting || len(requests) > mostTogether {
			return nil, done, errAlone
		}
	}
	if s, err = b.server(ctx); err != nil {
		return nil, done, err
	}
	known := b.meta.Load()
	if !known.covers(first, time.Now()) {
		if _, err := b.look(ctx, s, first); err != nil {
			return nil, done, err
		}
		if known = b.meta.Load(); !known.covers(first, time.Now()) {
			return nil, done, errAlone
		}
	}
	done, err = s.q.Exec(ctx, s.sql["acquire_each"], acquireEachArgs(s, requests, known.metaRow)...)
	return s, done, err
}

// acquireEachArgs returns the parameters of acquire_each.sql.
func acquireEachArgs(s *server, requests []driver.Request, known metaRow) []any {
	first := requests[0]
	var nonces, names []any
	for i := range mostTogether {
		r := requests[min(i, len(requests)-1)]
		_, name := encoded(r.Key)
		names, nonces = append(names, name), append(nonces, r.Nonce.String())
	}
	namespace, _ := encoded(first.Key)
	args := append(append(append([]any{}, names...), nonces...),
		sqlbind.MySQLText(first.Holder), sqlbind.MySQLText(first.Note), first.TTL.Microseconds(), sqlbase.ClosedFor(first), namespace)
	args = append(args, names...)
	if s.mariadb {
		return append(args, known.floor, known.epoch)
	}
	args = append(append(args, namespace), names...)
	return append(args, known.floor, known.epoch, len(requests))
}

// ReleaseEach implements [driver.Batcher]. One statement releases the grants. It does not release a lock for which a
// process waits. A second release of the other grants returns no error.
func (b *Backend) ReleaseEach(ctx context.Context, grants []driver.Grant) []error {
	errs := make([]error, len(grants))
	err := b.releaseAll(ctx, grants)
	for i, g := range grants {
		errs[i] = b.unbatched(ctx, "release", g.Key, err)
	}
	return errs
}

// releaseAll runs release_each.sql. It returns nil if all grants were released.
func (b *Backend) releaseAll(ctx context.Context, grants []driver.Grant) error {
	for _, g := range grants {
		if g.Shared || g.Token == 0 || g.Done != "" || g.MinHold != grants[0].MinHold || len(grants) > mostTogether {
			return errAlone
		}
	}
	s, err := b.releases(ctx)
	if err != nil {
		return err
	}
	done, err := s.q.Exec(ctx, s.sql["release_each"], releaseEachArgs(s, grants)...)
	if err == nil && int(done.Affected) < len(grants) {
		err = errAlone
	}
	return err
}

// releaseEachArgs returns the parameters of release_each.sql.
func releaseEachArgs(s *server, grants []driver.Grant) []any {
	namespace, _ := encoded(grants[0].Key)
	minHold := grants[0].MinHold.Microseconds()
	names, own := []any{namespace}, []any{}
	for i := range mostTogether {
		g := grants[min(i, len(grants)-1)]
		_, name := encoded(g.Key)
		names, own = append(names, name), append(own, name, g.Nonce.String(), int64(g.Token))
	}
	args := append([]any{minHold, minHold}, names...)
	if s.mariadb {
		return append(args, own...)
	}
	return append(append(append(args, names...), own...), len(grants))
}

// unbatched returns the outcome of a request in a batch whose error is err. If the batch had no effect, the error of
// the request on its own will say why.
func (b *Backend) unbatched(ctx context.Context, operation string, key driver.Key, err error) error {
	if err = b.classify(ctx, operation, key, err); driver.IsNotApplied(err) {
		return errAlone
	}
	return err
}
