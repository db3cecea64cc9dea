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

// ErrMadeElsewhere is the error of [Up], [Down] and [Status] where the tables are there and no version table is: other
// migrations have made them, of a folder of your own or from the script of [SQL]. Those must bring them up to date as
// well. Nothing was changed. A user of MySQL who may not see the version table gets it, too.
var ErrMadeElsewhere = errors.New("the tables were made by other migrations, which must bring them up to date as well")

// Up brings the tables to the newest version. It may be called by any number of processes at the
// same time, and again at every start of a program: one of them migrates, the others wait for it,
// and all find the same tables.
//
// An Up that was interrupted goes on where it stopped, on MySQL and MariaDB as well, where no DDL is undone.
//
// ctx bounds the waiting and the migrating, with any driver; with one that heeds no context, what is under way then goes on
// until the connection ends. On Postgres and MySQL the turns are taken with a lock
// of the session, so db must reach the server directly or through a pooler in session mode. db
// stays the caller's to close. Errors are those of the database, with the migration's name; where ctx
// has ended, its error is among them.
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

// Down takes back the migration that was applied last, one step, as goose does. The marks of package
// fence, or the locks, are lost with their table. With nothing left to take back it does nothing. The
// version table stays. [DownAll] takes back all.
func Down(ctx context.Context, db *sql.DB, d Dialect, opts ...Option) error {
	return migrate(ctx, db, d, opts, "down", func(p *goose.Provider) error {
		_, err := p.Down(ctx)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return nil
		}
		return err
	})
}

// DownAll takes back all migrations, the newest first, and so drops every table but the version table. On MySQL and MariaDB,
// which undo no DDL, a DownAll or a [Down] that was interrupted has to be run again before an [Up].
func DownAll(ctx context.Context, db *sql.DB, d Dialect, opts ...Option) error {
	return migrate(ctx, db, d, opts, "down", func(p *goose.Provider) error {
		_, err := p.DownTo(ctx, 0)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return nil
		}
		return err
	})
}

// MigrationStatus is one migration of this version of the library, and whether it was applied.
type MigrationStatus struct {
	Version   int64
	Name      string // of its file
	Applied   bool
	AppliedAt time.Time // UTC, in whole seconds; zero if not applied
}

// Status lists the migrations in their order. It reads only.
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

// raceTries bounds how often a SQLite migration is tried: there it is not a lock that makes
// processes take turns, but that the losers of a race look again and find the work done.
const raceTries = 10

// migrate runs work with a provider. goose creates nothing of its own accord, logs nothing, and
// knows no migrations but these.
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

// inTime ends work with ctx, whatever the driver does: lib/pq waits for an answer for as long as its connection stands, and
// go-sql-driver/mysql for that to a commit. What was left behind ends with the connection. SQLite has no network.
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
