// Package history records the last runs of "rowlock run" under each lock, in a table in the database of the locks.
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
	// recordTimeout is how long "rowlock run" waits at its end until the run is recorded.
	recordTimeout = 5 * time.Second
	// lostRecordTimeout replaces recordTimeout if the lock was lost, because the store may be unreachable then.
	lostRecordTimeout = time.Second
	// Kept is how many runs, and how many refusals, the table keeps for each lock.
	Kept = 100
)

// Record is one row of the table: a run, or a refusal. The token of a refusal is zero.
type Record struct {
	Key           driver.Key
	id            string // the id of the row that was inserted when the run started
	Outcome       string
	Code          int
	Token         rowlock.Token
	Holder, Note  string
	HeldBy        string
	Waited, Took  time.Duration
	StartedMicros int64 // microseconds since 1970; set only in rows that were read
}

//go:embed sql
var statementFiles embed.FS

// Runs accesses the table of runs in a store.
type Runs struct{ in *store.Store }

// Of returns the Runs of a store. In a store without tables, Runs records nothing.
func Of(s *store.Store) Runs { return Runs{s} }

// exec runs the statement verb and returns the number of changed rows. It waits for no flush, except on MySQL, because a
// flush takes longer than a short command, and the history may be incomplete.
func (s Runs) exec(ctx context.Context, verb string, args ...any) (int64, error) {
	run := s.in.DB.ExecContext
	if s.in.At.Dialect == migrations.SQLite {
		run = s.in.ExecUnflushed
	}
	result, err := run(ctx, s.statement(verb), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// statement returns the SQL of sql/<dialect>/<verb>.sql with the names of the store's tables.
func (s Runs) statement(verb string) string {
	return s.in.StatementIn(statementFiles, "sql/"+s.in.At.Dialect.String(), verb)
}

// text encodes a text as a parameter of a statement. For MySQL it uses hexadecimal digits, so that the connection's
// character set cannot change the text.
func (s Runs) text(t string) string {
	if s.in.At.Dialect == migrations.MySQL {
		return hex.EncodeToString([]byte(t))
	}
	return t
}

// Begin records the start of a run in the background. The returned channel is closed when the record was written or has
// failed, at the latest after recordTimeout. The returned function records the end of the run. A record cannot be
// written if the table is missing, outdated or read-only. Begin then returns no error, and the exit code of "rowlock
// run" does not change. "rowlock doctor" reports such a table.
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

// record inserts the row of a run or refusal that has already ended.
func (s Runs) record(r Record) {
	if s.in.DB == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	defer cancel()
	r.id = driver.NewNonce().String()
	s.insert(ctx, r)
}

// insert adds a row for a run or a refusal. Then it deletes the oldest rows of the same lock and the same kind, so that
// at most Kept of them remain.
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

// Prune deletes the history of each name that is not in the lock table and has had no run or refusal for a long time.
// The parameter unused sets that time. It does nothing if the table is missing.
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

// Refused records a refusal if err says that another process holds the lock.
func (s Runs) Refused(r Record, err error) {
	var held *rowlock.HeldError
	if errors.As(err, &held) {
		r.HeldBy, r.Waited = held.Holder, held.Waited
		s.record(r)
	}
}

// List returns the runs and refusals of a lock, the newest first.
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
