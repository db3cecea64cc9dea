package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/rowlock/rowlock/internal/bounded"
	"github.com/rowlock/rowlock/internal/oneline"
)

// ErrMadeElsewhere is the error of [Up], [Down] and [Status] if the tables exist and the version table does not. Other
// migrations created the tables: a folder of your own, or the script of [SQL]. The same migrations must also update
// them. Nothing was changed. A MySQL user that lacks the privilege to see the version table gets this error, too.
var ErrMadeElsewhere = errors.New("the tables were made by other migrations, which must bring them up to date as well")

// Up brings the tables to the newest version. Any number of processes may call it at the same time, and again at every
// start: one process migrates, the others wait for it, and all find the same tables.
//
// An Up that was interrupted continues where it stopped. This includes MySQL and MariaDB, which cannot roll back DDL.
//
// ctx bounds the waiting and the migrating, with any driver. If the driver ignores contexts, the statement that is
// running continues until the connection ends. On Postgres and MySQL a lock of the session serialises the processes,
// so db must reach the server directly or through a pooler in session mode. The caller closes db. Errors are those of
// the database, with the migration's name. If ctx has ended, the error wraps ctx's error, too.
func Up(ctx context.Context, db *sql.DB, d Dialect, opts ...Option) error {
	return migrate(ctx, db, d, opts, "up", func(p *goose.Provider) error {
		for _, source := range p.ListSources() {
			_, err := p.ApplyVersion(ctx, source.Version, true)
			if err != nil && !errors.Is(err, goose.ErrAlreadyApplied) {
				return err
			}
		}
		return nil
	})
}

// Down rolls back the migration that was applied last, one step, as goose does. It drops the tables of that migration
// with their rows: the marks of package fence, or the locks. If no migration is applied, Down does nothing. The
// version table remains. [DownAll] rolls back all migrations.
func Down(ctx context.Context, db *sql.DB, d Dialect, opts ...Option) error {
	return migrate(ctx, db, d, opts, "down", func(p *goose.Provider) error {
		_, err := p.Down(ctx)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return nil
		}
		return err
	})
}

// DownAll rolls back all migrations, the newest first, and so drops every table except the version table. MySQL and
// MariaDB cannot roll back DDL: repeat a DownAll or a [Down] that was interrupted before you call [Up].
func DownAll(ctx context.Context, db *sql.DB, d Dialect, opts ...Option) error {
	return migrate(ctx, db, d, opts, "down", func(p *goose.Provider) error {
		_, err := p.DownTo(ctx, 0)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return nil
		}
		return err
	})
}

// MigrationStatus describes one migration of this version of the library, and whether it was applied.
type MigrationStatus struct {
	Version   int64
	Name      string // of its file
	Applied   bool
	AppliedAt time.Time // UTC, in whole seconds; zero if not applied
}

// Status lists the migrations in order. It only reads.
func Status(ctx context.Context, db *sql.DB, d Dialect, opts ...Option) ([]MigrationStatus, error) {
	table, err := tableOf(d, opts)
	if err != nil {
		return nil, err
	}
	if db == nil {
		return nil, errNoDB
	}
	v := versions{dialect: d, table: table}
	all, err := inTime(ctx, db, d, func() ([]applied, error) {
		exists, err := v.tableExists(ctx, db)
		if err != nil || !exists {
			return nil, err
		}
		return v.list(ctx, db)
	})
	if err != nil {
		return nil, fmt.Errorf("migrations: status of %s: %w", table, oneline.Error(ended(ctx, err)))
	}
	at := map[int64]time.Time{}
	for _, a := range all {
		at[a.version] = a.at
	}
	var list []MigrationStatus
	err = each(d, func(name, _ string) error {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return err
		}
		when, done := at[version]
		list = append(list, MigrationStatus{Version: version, Name: name, Applied: done, AppliedAt: when})
		return nil
	})
	return list, err
}

var errNoDB = errors.New("migrations: the database handle is nil")

// raceTries bounds how often a SQLite migration is tried. SQLite has no lock for whole migrations. A process that
// loses a race checks again and finds the work done.
const raceTries = 10

// migrate runs work with a provider. goose creates nothing by itself, logs nothing, and uses no global migrations.
func migrate(ctx context.Context, db *sql.DB, d Dialect, opts []Option, direction string, work func(*goose.Provider) error) error {
	table, err := tableOf(d, opts)
	if err != nil {
		return err
	}
	if db == nil {
		return errNoDB
	}
	fsys, err := files(d, table)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		v := versions{dialect: d, table: table}
		p, err := goose.NewProvider(goose.DialectCustom, db, fsys,
			goose.WithStore(v), goose.WithSessionLocker(&session{versions: v}),
			goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
		if err == nil {
			_, err = inTime(ctx, db, d, func() (struct{}, error) { return struct{}{}, work(p) })
		}
		if err == nil {
			return nil
		}
		var missing *missingSchemaError
		if d != SQLite || errors.As(err, &missing) || errors.Is(err, ErrMadeElsewhere) || try == raceTries || pause(ctx) != nil {
			return fmt.Errorf("migrations: %s %s: %w", direction, table, oneline.Error(ended(ctx, err)))
		}
	}
}

// inTime runs work until ctx ends, even if the driver ignores ctx. lib/pq waits for a reply until its connection ends,
// and go-sql-driver/mysql does so for the reply to a commit. The abandoned work ends with the connection. SQLite has
// no network.
func inTime[T any](ctx context.Context, db *sql.DB, d Dialect, work func() (T, error)) (T, error) {
	if d == SQLite || bounded.IsPgx(db) {
		return work()
	}
	return bounded.Do(ctx, work, func(T) {})
}

func pause(ctx context.Context) error {
	select {
	case <-time.After(lockPoll/2 + rand.N(lockPoll)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
