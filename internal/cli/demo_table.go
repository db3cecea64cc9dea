package cli

import (
	"context"
	"database/sql"
	"embed"
	"io"
	"path"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
)

//go:embed sql/demo
var demoSQL embed.FS

// dropTimeout bounds the clean-up, which a signal does not end.
const dropTimeout = 5 * time.Second

// demo is a table of amounts that two demonstrations work on, in the database of the locks.
type demo struct {
	store     *store
	namespace string
	guard     *fence.Guard
	out       io.Writer
}

// openDemo creates the table. It fails before that if there is no lock table.
func openDemo(ctx context.Context, s *store, namespace string, out io.Writer) (*demo, error) {
	d := &demo{s, namespace, s.guard(), out}
	if _, err := s.backend.Inspect(ctx, driver.Key{Namespace: namespace, Name: demoLock}); err != nil {
		return nil, s.explain(inspectFailure(err, exitUnavailable))
	}
	if _, err := s.db.ExecContext(ctx, d.statement("create")); err != nil {
		return nil, fail(exitUnavailable, "create the table rowlock_demo, which must not exist (drop one that a killed demonstration left behind): %w (store %s)", err, s.at.shown)
	}
	return d, nil
}

// drop ignores the end of ctx.
func (d *demo) drop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	if _, err := d.store.db.ExecContext(ctx, d.statement("drop")); err != nil {
		return fail(exitUnavailable, "drop the table rowlock_demo: %w (store %s)", err, d.store.at.shown)
	}
	return nil
}

// statement reads one from its file: that of the dialect, or the common one.
func (d *demo) statement(name string) string {
	text, err := demoSQL.ReadFile(path.Join("sql/demo", d.store.at.dialect.String(), name+".sql"))
	if err != nil {
		text, _ = demoSQL.ReadFile(path.Join("sql/demo", name+".sql"))
	}
	return string(text)
}

// querier is the pool or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (d *demo) insert(ctx context.Context, name string, amount int64) error {
	_, err := d.store.db.ExecContext(ctx, d.statement("insert"), name, amount)
	return err
}

func (d *demo) read(ctx context.Context, q querier, name string) (amount int64, err error) {
	err = q.QueryRowContext(ctx, d.statement("read"), name).Scan(&amount)
	return amount, err
}

func (d *demo) write(ctx context.Context, q querier, name string, amount int64) error {
	_, err := q.ExecContext(ctx, d.statement("write"), amount, name)
	return err
}

// locker is one worker's. Workers have one each, as processes do.
func (d *demo) locker(backend driver.Backend, opts ...rowlock.Option) (*rowlock.Locker, error) {
	locker, err := rowlock.New(backend, append(opts, rowlock.Namespace(d.namespace))...)
	if err != nil {
		return nil, acquireFailure(err)
	}
	return locker, nil
}
