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

// ErrMadeElsewhere is the error that [Up], [Down] and [Status] return if the lease table exists and the version table
// does not. In that case other migrations created the tables: your own folder of migrations, or the script from [SQL].
// Update the tables in the same way as you created them. The call that returned the error changed nothing.
// A MySQL user who has no privilege on the version table gets this error, too.
var ErrMadeElsewhere = errors.New("the tables were made by other migrations, which must bring them up to date as well")

// errFunctions is the error of a rollback of the tables while the functions use them.
var errFunctions = errors.New("roll back the functions first (migrations.Functions, or rowlock migrate down --all --functions)")

// Up brings the tables to the newest version. Any number of processes may call Up at the same time,
// and each process may call it whenever it starts. One process migrates, and the other processes wait until it has
// finished.
//
// If a call of Up was interrupted, the next call continues where it stopped. MySQL and MariaDB cannot roll back DDL,
// but the next call continues there, too.
//
// When ctx ends, Up stops waiting or migrating, and returns, with any driver. If the driver ignores contexts,
// the running statement continues until the connection ends. On Postgres and MySQL a session lock serialises the
// processes, so db must reach the server directly or through a pooler in session mode. The caller closes db.
// Up returns the database's error with the migration's name. If ctx has ended, the error also wraps ctx's error.
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

// Down rolls back only the newest applied migration, like goose's down. It drops the tables of that migration,
// and their rows are lost: for example the locks, or the marks of package fence. If no migration is applied,
// Down does nothing. Down never drops the version table. [DownAll] rolls back all migrations. Both fail if the functions
// of the option [Functions] exist, because those use the tables.
func Down(ctx context.Context, db *sql.DB, d Dialect, opts ...Option) error {
	return migrate(ctx, db, d, opts, "down", func(p *goose.Provider) error {
		_, err := p.Down(ctx)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return nil
		}
		return err
	})
}

// DownAll rolls back all migrations, the newest first. After that, only the version table is left. MySQL and MariaDB
// cannot roll back DDL. If a DownAll or a [Down] was interrupted there, repeat that call before you call [Up].
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
	Name      string // the name of the migration's file
	Applied   bool
	AppliedAt time.Time // UTC, in whole seconds; zero if not applied
}

// Status returns all migrations of this version of the library, in the order of their numbers. It changes nothing in
// the database.
func Status(ctx context.Context, db *sql.DB, d Dialect, opts ...Option) ([]MigrationStatus, error) {
	s, err := seriesOf(d, opts)
	if err != nil {
		return nil, err
	}
	if db == nil {
		return nil, errNoDB
	}
	v := versions{s}
	all, err := inTime(ctx, db, d, func() ([]applied, error) {
		exists, err := v.tableExists(ctx, db)
		if err != nil || !exists {
			return nil, err
		}
		return v.list(ctx, db)
	})
	if err != nil {
		return nil, fmt.Errorf("migrations: status of %s: %w", s.table, oneline.Error(ended(ctx, err)))
	}
	at := map[int64]time.Time{}
	for _, a := range all {
		at[a.version] = a.at
	}
	var list []MigrationStatus
	err = s.each(func(name, _ string) error {
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

// raceTries limits how many times Up, Down and similar functions try to migrate a SQLite file. SQLite has no lock that
// serialises whole migrations. If the migrations of two processes conflict, one process fails, retries, and finds that
// the migration is done.
const raceTries = 10

// migrate calls work with a goose provider for d's migrations. The provider logs nothing, and ignores migrations that
// the program has registered with goose globally.
func migrate(ctx context.Context, db *sql.DB, d Dialect, opts []Option, direction string, work func(*goose.Provider) error) error {
	s, err := seriesOf(d, opts)
	if err != nil {
		return err
	}
	if db == nil {
		return errNoDB
	}
	fsys, err := s.files()
	if err != nil {
		return err
	}
	if direction == "down" && !s.functions && d != SQLite {
		if err := s.withoutFunctions(ctx, db); err != nil {
			return fmt.Errorf("migrations: down %s: %w", s.table, oneline.Error(ended(ctx, err)))
		}
	}
	for try := 1; ; try++ {
		v := versions{s}
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
			return fmt.Errorf("migrations: %s %s: %w", direction, s.table, oneline.Error(ended(ctx, err)))
		}
	}
}

// inTime runs work, and returns when ctx ends even if the driver ignores ctx. lib/pq waits for every reply until its
// connection ends. go-sql-driver/mysql waits in the same way for the reply to a commit. After ctx has ended, work
// continues in the background until its connection ends. With SQLite, which has no network, and with pgx, which obeys
// ctx, inTime only calls work.
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
