// Package history records the outcomes of the last runs under a lock, in a table beside the locks.
package history

import (
	"context"
	"embed"
	"encoding/hex"
	"errors"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/job"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/migrations"
)

const (
	// recordTimeout limits how long the end of a job waits for its record.
	recordTimeout = 5 * time.Second
	// lostRecordTimeout is that limit if the lock was lost, because the store may be unreachable.
	lostRecordTimeout = time.Second
	// Kept is how many runs of a name are kept, and how many refusals.
	Kept = 100
)

// Record is the row of a run, or of a refusal, whose token is zero.
type Record struct {
	Key           driver.Key
	id            string // of the row that was written at the start of the run
	Outcome       string
	Code          int
	Token         rowlock.Token
	Holder, Note  string
	HeldBy        string
	Waited, Took  time.Duration
	StartedMicros int64 // since 1970, set when the row is read
}

//go:embed sql
var statementFiles embed.FS

// Runs is the table of runs.
type Runs struct{ in *store.Store }

// Of returns the table of a store. A store without tables keeps no runs.
func Of(s *store.Store) Runs { return Runs{s} }

// exec returns the number of changed rows.
func (s Runs) exec(ctx context.Context, verb string, args ...any) (int64, error) {
	result, err := s.in.DB.ExecContext(ctx, s.statement(verb), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// statement returns the text of sql/<dialect>/<verb>.sql.
func (s Runs) statement(verb string) string {
	return s.in.StatementIn(statementFiles, "sql/"+s.in.At.Dialect.String(), verb)
}

// text encodes a text for a statement: for MySQL in hexadecimal digits, so that the connection's character set does not
// matter.
func (s Runs) text(t string) string {
	if s.in.At.Dialect == migrations.MySQL {
		return hex.EncodeToString([]byte(t))
	}
	return t
}

// Begin records the start of a run in the background. The returned channel is closed when that has succeeded or failed,
// after recordTimeout at most. The returned function records the end of the run. Both are best effort: a table that is
// missing, outdated or read-only causes no error, and does not change the job's exit code. "rowlock doctor" reports
// such a table.
func (s Runs) Begin(r Record) (recorded <-chan struct{}, end func(Record)) {
	written := make(chan struct{})
	if s.in.DB == nil {
		close(written)
		return written, func(Record) {}
	}
	began := time.Now()
	r.id, r.Outcome = driver.NewNonce().String(), job.Running
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	go func() {
		defer close(written)
		s.insert(ctx, r)
	}()
	return written, func(ended Record) {
		defer cancel()
		limit := recordTimeout
		if ended.Outcome == job.Lost {
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
		ended.id, ended.Took = r.id, r.Took+time.Since(began)
		n, err := s.exec(bounded, "run_end", ended.Outcome, ended.Code, s.text(r.Key.Namespace), s.text(r.Key.Name), r.id)
		if err == nil && n == 0 {
			s.insert(bounded, ended)
		}
	}
}

// record records a run that has ended.
func (s Runs) record(r Record) {
	if s.in.DB == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	defer cancel()
	r.id = driver.NewNonce().String()
	s.insert(ctx, r)
}

// insert adds a row, and deletes the oldest rows above the limit.
func (s Runs) insert(ctx context.Context, r Record) {
	namespace, name := s.text(r.Key.Namespace), s.text(r.Key.Name)
	running, code := 0, any(r.Code)
	if r.Outcome == job.Running {
		running, code = 1, nil
	}
	_, err := s.exec(ctx, "run_insert", namespace, name, r.id, r.Took.Microseconds(), running, r.Waited.Microseconds(),
		r.Outcome, code, int64(r.Token), s.text(r.Holder), s.text(r.Note), s.text(r.HeldBy))
	if err != nil {
		return
	}
	trim := []any{namespace, name, int64(r.Token), Kept}
	if s.in.At.Dialect == migrations.MySQL {
		trim = []any{namespace, name, int64(r.Token), namespace, name, int64(r.Token), Kept - 1}
	}
	_, _ = s.exec(ctx, "run_trim", trim...)
}

// Prune deletes the rows of names whose locks were pruned. It does nothing if the table is missing.
func (s Runs) Prune(ctx context.Context, unused time.Duration) error {
	if s.in.DB == nil {
		return nil
	}
	_, err := s.exec(ctx, "run_prune", unused.Microseconds())
	if store.IsMissingTable(err) {
		return nil
	}
	return err
}

// Refused records that another process holds the lock, if err says so.
func (s Runs) Refused(r Record, err error) {
	var held *rowlock.HeldError
	if errors.As(err, &held) {
		r.HeldBy, r.Waited = held.Holder, held.Waited
		s.record(r)
	}
}

// List returns the rows of a name, the newest first.
func (s Runs) List(ctx context.Context, key driver.Key) ([]Record, error) {
	rows, err := s.in.DB.QueryContext(ctx, s.statement("run_list"), s.text(key.Namespace), s.text(key.Name))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Record
	for rows.Next() {
		r := Record{Key: key}
		var took, waited, token int64
		if err := rows.Scan(&r.StartedMicros, &took, &waited, &r.Outcome, &r.Code, &token, &r.Holder, &r.Note, &r.HeldBy); err != nil {
			return nil, err
		}
		r.Took, r.Waited, r.Token = time.Duration(took)*time.Microsecond, time.Duration(waited)*time.Microsecond, rowlock.Token(token)
		list = append(list, r)
	}
	return list, rows.Err()
}
