package sqllock

import (
	"context"
	"database/sql"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/internal/sqlitefile"
)

// manner is how something is written.
type manner struct {
	limit    time.Duration // of waiting for another writer
	together bool          // several statements, all or none
	relaxed  bool          // may be lost when the machine crashes
}

// write runs work on a connection, and again while the file is busy. With a write-ahead log the
// statements are prepared. They are in a transaction then, because that is the only way by which database/sql
// runs what is prepared on the connection that was given the short busy time-out.
func (s *sqlite) write(ctx context.Context, m manner, work func(querier) error) error {
	wal := s.mode.wal()
	if wal {
		if err := s.prepared.ready(ctx); err != nil {
			return err
		}
	}
	return s.within(ctx, m.limit, func(conn *sql.Conn) error {
		if !wal {
			if m.together {
				return immediately(ctx, conn, work)
			}
			return work(sqlQuerier{conn})
		}
		if m.relaxed {
			restore, err := s.relax(ctx, conn)
			if err != nil {
				return driver.NotApplied(err)
			}
			defer restore()
		}
		return s.transact(ctx, conn, work)
	})
}

// transact runs work in a transaction whose statements are prepared. Its first statement takes the
// file's write lock. It is not interrupted by the end of ctx: it is short, and an interrupted one would cost
// the connection.
func (s *sqlite) transact(ctx context.Context, conn *sql.Conn, work func(querier) error) error {
	if err := ctx.Err(); err != nil {
		return driver.NotApplied(err)
	}
	ctx = context.WithoutCancel(ctx)
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := work(parsedQuerier{s.prepared, tx}); err != nil {
		if tx.Rollback() != nil {
			discard(conn)
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		if !sqlitefile.Busy(err) {
			discard(conn)
		}
		return err
	}
	return nil
}

// read runs work, which reads, and again while the file is busy. With a write-ahead log readers wait for
// no writer, and need no busy time-out.
func (s *sqlite) read(ctx context.Context, limit time.Duration, work func(querier) error) error {
	if !s.mode.wal() {
		return s.within(ctx, limit, func(conn *sql.Conn) error { return work(sqlQuerier{conn}) })
	}
	if err := s.prepared.ready(ctx); err != nil {
		return err
	}
	err := retryWithin(ctx, limit, sqlitefile.Busy, func() error { return work(parsedQuerier{s.prepared, nil}) })
	if err != nil && ctx.Err() != nil {
		return driver.NotApplied(err)
	}
	return err
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
	restore, err := withBusySlice(ctx, nil, sqlQuerier{conn})
	if err != nil {
		return driver.NotApplied(err)
	}
	defer func() { err = oneline.Join(err, restore()) }()
	s.mode.ask(ctx, sqlQuerier{conn}, s.table)
	return work(conn)
}
