package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/internal/sqlitefile"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
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
func (s *Backend) write(ctx context.Context, m manner, work func(sqlbase.Querier) error) error {
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
			return work(sqlbase.On(conn))
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
func (s *Backend) transact(ctx context.Context, conn *sql.Conn, work func(sqlbase.Querier) error) error {
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
			sqlbase.Discard(conn)
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		if !sqlitefile.Busy(err) {
			sqlbase.Discard(conn)
		}
		return err
	}
	return nil
}

// read runs work, which reads, and again while the file is busy. With a write-ahead log readers wait for
// no writer, and need no busy time-out.
func (s *Backend) read(ctx context.Context, limit time.Duration, work func(sqlbase.Querier) error) error {
	if !s.mode.wal() {
		return s.within(ctx, limit, func(conn *sql.Conn) error { return work(sqlbase.On(conn)) })
	}
	if err := s.prepared.ready(ctx); err != nil {
		return err
	}
	err := sqlbase.RetryWithin(ctx, limit, sqlitefile.Busy, func() error { return work(parsedQuerier{s.prepared, nil}) })
	if err != nil && ctx.Err() != nil {
		return driver.NotApplied(err)
	}
	return err
}

// Exec runs a statement that answers nothing, and that an acquire needs to be run.
func (s *Backend) Exec(ctx context.Context, verb string, args ...any) error {
	return s.within(ctx, writerWait, func(conn *sql.Conn) error {
		_, err := sqlbase.On(conn).Exec(ctx, s.sql[verb], args...)
		return err
	})
}

// call runs work on a connection, and again while the file is busy, until ctx's deadline is near.
func (s *Backend) call(ctx context.Context, work func(sqlbase.Querier) error) error {
	return s.within(ctx, sqlbase.LongRetry, func(conn *sql.Conn) error { return work(sqlbase.On(conn)) })
}

func (s *Backend) within(ctx context.Context, limit time.Duration, work func(*sql.Conn) error) error {
	return sqlbase.RetryWithin(ctx, limit, sqlitefile.Busy, func() error { return s.once(ctx, work) })
}

// once runs work on a connection that soon answers when the file is busy.
func (s *Backend) once(ctx context.Context, work func(*sql.Conn) error) (err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return driver.NotApplied(err)
	}
	defer conn.Close() //nolint:errcheck // back to the pool, which reports nothing of use
	restore, err := withBusySlice(ctx, nil, sqlbase.On(conn))
	if err != nil {
		return driver.NotApplied(err)
	}
	defer func() { err = oneline.Join(err, restore()) }()
	s.mode.ask(ctx, sqlbase.On(conn), s.table)
	return work(conn)
}
