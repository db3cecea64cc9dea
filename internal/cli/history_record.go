package cli

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/migrations"
)

// What became of a run.
const (
	outcomeRunning = "running" // it has started, and no end was written
	outcomeExited  = "exited"
	outcomeTimeout = "timeout"
	outcomeLost    = "lost"
	outcomeFailed  = "failed" // the command could not be started
	outcomeHeld    = "held"
	outcomeSkipped = "skipped"
)

const (
	// recordTimeout bounds what a job's end may wait for its record.
	recordTimeout = 5 * time.Second
	// lostRecordTimeout bounds it where the store may be what was lost.
	lostRecordTimeout = time.Second
	// recordsKept is how many runs of a name are kept, and how many refusals.
	recordsKept = 100
)

// record is what is kept of a run, or of a refusal, whose token is zero.
type record struct {
	key           driver.Key
	id            string // that of a run which was written down at its start
	outcome       string
	code          int
	token         rowlock.Token
	holder, note  string
	heldBy        string
	waited, took  time.Duration
	startedMicros int64 // since 1970, when it is read
}

// begin writes a run down as it starts, beside what the caller does. The returned channel is closed when that is done or has
// failed, after recordTimeout at most, and the function writes down how the run ended.
// Both are without promise: nothing is said of a table that is missing, or older, or may not be written to, and the job's
// exit code is not touched. "rowlock doctor" tells.
func (s *store) begin(r record) (recorded <-chan struct{}, end func(record)) {
	written := make(chan struct{})
	if s.db == nil {
		close(written)
		return written, func(record) {}
	}
	began := time.Now()
	r.id, r.outcome = driver.NewNonce().String(), outcomeRunning
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	go func() {
		defer close(written)
		s.insert(ctx, r)
	}()
	return written, func(ended record) {
		defer cancel()
		limit := recordTimeout
		if ended.outcome == outcomeLost {
			limit = lostRecordTimeout
		}
		bounded, done := context.WithTimeout(context.Background(), limit)
		defer done()
		select {
		case <-written:
		case <-bounded.Done():
			cancel()
			<-written
			return
		}
		ended.id, ended.took = r.id, r.took+time.Since(began)
		n, err := s.exec(bounded, "run_end", ended.outcome, ended.code, s.text(r.key.Namespace), s.text(r.key.Name), r.id)
		if err == nil && n == 0 {
			s.insert(bounded, ended)
		}
	}
}

// record keeps what has ended.
func (s *store) record(r record) {
	if s.db == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	defer cancel()
	r.id = driver.NewNonce().String()
	s.insert(ctx, r)
}

// insert adds a row, and deletes the oldest if there are too many.
func (s *store) insert(ctx context.Context, r record) {
	namespace, name := s.text(r.key.Namespace), s.text(r.key.Name)
	running, code := 0, any(r.code)
	if r.outcome == outcomeRunning {
		running, code = 1, nil
	}
	_, err := s.exec(ctx, "run_insert", namespace, name, r.id, r.took.Microseconds(), running, r.waited.Microseconds(),
		r.outcome, code, int64(r.token), s.text(r.holder), s.text(r.note), s.text(r.heldBy))
	if err != nil {
		return
	}
	trim := []any{namespace, name, int64(r.token), recordsKept}
	if s.at.dialect == migrations.MySQL {
		trim = []any{namespace, name, int64(r.token), namespace, name, int64(r.token), recordsKept - 1}
	}
	_, _ = s.exec(ctx, "run_trim", trim...)
}

// pruneHistory deletes the rows of names that are forgotten. A table that is missing has none.
func (s *store) pruneHistory(ctx context.Context, unused time.Duration) error {
	if s.db == nil {
		return nil
	}
	_, err := s.exec(ctx, "run_prune", unused.Microseconds())
	if isMissingTable(err) {
		return nil
	}
	return err
}

// recordRefusal keeps that somebody else had the lock, if that is what err says.
func (s *store) recordRefusal(key driver.Key, f runFlags, err error, code int) {
	var held *rowlock.HeldError
	if !errors.As(err, &held) {
		return
	}
	outcome := outcomeHeld
	if f.onConflict == onConflictSkip {
		outcome = outcomeSkipped
	}
	s.record(record{key: key, outcome: outcome, code: code, holder: f.holder, note: f.note, heldBy: held.Holder, waited: held.Waited})
}

// records are what is kept of a name, the newest first.
func (s *store) records(ctx context.Context, key driver.Key) ([]record, error) {
	rows, err := s.query(ctx, "run_list", s.text(key.Namespace), s.text(key.Name))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []record
	for rows.Next() {
		r := record{key: key}
		var took, waited, token int64
		if err := rows.Scan(&r.startedMicros, &took, &waited, &r.outcome, &r.code, &token, &r.holder, &r.note, &r.heldBy); err != nil {
			return nil, err
		}
		r.took, r.waited, r.token = time.Duration(took)*time.Microsecond, time.Duration(waited)*time.Microsecond, rowlock.Token(token)
		list = append(list, r)
	}
	return list, rows.Err()
}

// isMissingTable recognises that a table or a column is not there: undefined table, column and schema; on SQLite
// SQLITE_ERROR, which a statement that is well formed answers for no other reason.
func isMissingTable(err error) bool {
	switch sqlerror.State(err) {
	case "42P01", "42703", "3F000":
		return true
	}
	switch sqlerror.MySQL(err) {
	case 1146, 1054, 1049:
		return true
	}
	return sqlerror.SQLite(err)&0xff == 1
}
