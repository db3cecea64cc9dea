// Package demo shows what a fence is for. Its workers change a demonstration table under one lock.
package demo

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io"
	"path"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
)

//go:embed sql
var demoSQL embed.FS

const (
	// Lock is the name of the lock that both demonstrations use.
	Lock = "rowlock-demo"
	// Timeout is the time limit of a demonstration, for a store that hangs. A demonstration takes about 2 s.
	Timeout = 30 * time.Second
)

// dropTimeout limits the time for dropping the table, because signals do not interrupt that.
const dropTimeout = 5 * time.Second

// Demo represents the demonstration table in the database of the locks. The table contains amounts.
type Demo struct {
	store     *store.Store
	namespace string
	guard     *fence.Guard
	Out       io.Writer
}

// Open creates the demonstration table. If the lock table is missing, Open returns an error and creates nothing.
func Open(ctx context.Context, s *store.Store, namespace string, out io.Writer) (*Demo, error) {
	d := &Demo{s, namespace, s.Guard(), out}
	if _, err := s.Backend.Inspect(ctx, driver.Key{Namespace: namespace, Name: Lock}); err != nil {
		return nil, s.Explain(exit.OfInspect(err, exit.Unavailable))
	}
	if _, err := s.DB.ExecContext(ctx, d.statement("create")); err != nil {
		return nil, exit.Failf(exit.Unavailable, "create the table rowlock_demo, which must not exist (drop one that a killed demonstration left behind): %w (store %s)", err, s.At.Shown)
	}
	return d, nil
}

// Drop drops the demonstration table, even if ctx has ended.
func (d *Demo) Drop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	if _, err := d.store.DB.ExecContext(ctx, d.statement("drop")); err != nil {
		return exit.Failf(exit.Unavailable, "drop the table rowlock_demo: %w (store %s)", err, d.store.At.Shown)
	}
	return nil
}

// statement returns the SQL from the file of the store's dialect, or from the common file if the dialect has no file of
// its own.
func (d *Demo) statement(name string) string {
	text, err := demoSQL.ReadFile(path.Join("sql", d.store.At.Dialect.String(), name+".sql"))
	if err != nil {
		text, _ = demoSQL.ReadFile(path.Join("sql", name+".sql"))
	}
	return string(text)
}

// querier is implemented by a connection pool and by a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (d *Demo) insert(ctx context.Context, name string, amount int64) error {
	_, err := d.store.DB.ExecContext(ctx, d.statement("insert"), name, amount)
	return err
}

func (d *Demo) read(ctx context.Context, q querier, name string) (amount int64, err error) {
	err = q.QueryRowContext(ctx, d.statement("read"), name).Scan(&amount)
	return amount, err
}

func (d *Demo) write(ctx context.Context, q querier, name string, amount int64) error {
	_, err := q.ExecContext(ctx, d.statement("write"), amount, name)
	return err
}

// locker returns a new locker for one worker. Each worker has its own locker, as if it were a separate process.
func (d *Demo) locker(backend driver.Backend, opts ...rowlock.Option) (*rowlock.Locker, error) {
	locker, err := rowlock.New(backend, append(opts, rowlock.Namespace(d.namespace))...)
	if err != nil {
		return nil, exit.OfAcquire(err)
	}
	return locker, nil
}

// Explain adds the exit code to an error of a lock, of the fence or of the database. To an error of the database it
// also adds the store's address.
func (d *Demo) Explain(err error) error {
	var coded *exit.Error
	switch {
	case err == nil || errors.As(err, &coded):
		return err
	case errors.Is(err, rowlock.ErrLost):
		return exit.With(exit.Lost, err)
	case errors.Is(err, rowlock.ErrHeld):
		return exit.With(exit.Held, err)
	default:
		return d.store.Explain(exit.With(exit.Unavailable, err))
	}
}
