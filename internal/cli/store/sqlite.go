package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/system"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// Local is the value of --store that names the default SQLite file.
const Local = "local"

// defaultLocation returns the location of the default SQLite file in the user's state directory: $XDG_STATE_HOME, or
// else ~/.local/state (XDG Base Directory Specification 0.8). As this specification requires, it ignores a relative
// path in $XDG_STATE_HOME. Without $XDG_STATE_HOME, macOS and Windows use the system's folder for configuration.
func defaultLocation(env system.Environment) (Location, error) {
	dir := env.Get("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		dir = ""
	}
	home := env.Get("HOME")
	switch {
	case dir != "":
	case runtime.GOOS == "windows" || runtime.GOOS == "darwin":
		system, err := os.UserConfigDir()
		if err != nil {
			return Location{}, exit.Usagef("no --store, and no folder for the default one: %w", err)
		}
		dir = system
	case home == "":
		return Location{}, exit.Usagef("no --store, and no folder for the default one: HOME is not set")
	default:
		dir = filepath.Join(home, ".local", "state")
	}
	path := filepath.Join(dir, "rowlock", "locks.db")
	return Location{Dialect: migrations.SQLite, Path: path, Shown: "sqlite:" + path}, nil
}

// openSQLite opens the file, and creates it if it does not exist. At the end of the process, the system closes the
// default file. SQLite itself would also copy its log into the file and flush the file, and delete the log, if no other
// process uses the file. Nothing depends on that, because each commit has been flushed to the log. It would take as long
// as all commits of a short run, and the next run would have to create the log again.
func (s *Store) openSQLite(table sqllock.Option) error {
	if !s.At.ByName {
		if err := os.MkdirAll(filepath.Dir(s.At.Path), 0o700); err != nil {
			return exit.Failf(exit.Unavailable, "make the folder of the default store: %w", err)
		}
	}
	if err := makePrivate(s.At.Path); err != nil {
		return exit.Failf(exit.Unavailable, "make %s: %w", s.At.Shown, err)
	}
	db, err := sql.Open("sqlite", sqliteDSN(s.At.Path))
	if err != nil {
		return exit.Failf(exit.Internal, "open %s: %w", s.At.Shown, err)
	}
	db.SetMaxOpenConns(storeConns)
	s.DB = db
	s.Leases = sqllock.SQLite(db, table)
	s.closers = append(s.closers, func() {
		if !s.Exits || s.At.ByName {
			_ = db.Close()
		}
	})
	return nil
}

// makePrivate creates the file if it does not exist. Only this user may read or write the file. Any user that may read
// a SQLite file can also lock the file, and so block every acquire. SQLite creates its log next to the file with the
// same permissions.
func makePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return errors.New("it is a symbolic link to a file that does not exist")
	}
	return nil
}

// logPages is the length of the log at which SQLite copies the log into the file, in pages of 4 kB. A process that opens
// the file first reads the whole log.
const logPages = 64

// sqliteDSN returns the driver's address of the file with the settings that locks need: a commit is flushed to disk,
// readers do not wait for writers, and a transaction acquires the write lock when it begins.
func sqliteDSN(path string) string {
	absolute, err := filepath.Abs(path)
	if err != nil {
		absolute = path
	}
	slashed := filepath.ToSlash(absolute)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a file URL needs a slash before a drive letter
	}
	u := url.URL{Scheme: "file", Path: slashed}
	u.RawQuery = url.Values{
		"_pragma": {"busy_timeout(2000)", "journal_mode(WAL)", "synchronous(FULL)", fmt.Sprintf("wal_autocheckpoint(%d)", logPages)},
		"_txlock": {"immediate"},
	}.Encode()
	return u.String()
}

// PrepareSQLite creates or migrates rowlock's tables in a file that has no other tables. Another process may do the
// same at the same time. PrepareSQLite does not change a file with tables of an application. For such a file the user
// has to run "rowlock migrate up".
func (s *Store) PrepareSQLite(ctx context.Context) error {
	ready, others, err := s.TablesOfFile(ctx)
	if err != nil {
		return exit.Failf(exit.Unavailable, "open %s: %w", s.At.Shown, err)
	}
	if others > 0 {
		return nil
	}
	if ready > 0 {
		if complete, err := s.migrated(ctx); err != nil || complete {
			return err
		}
	}
	if err := migrations.Up(ctx, s.DB, migrations.SQLite, migrations.Table(s.Table.String())); err != nil {
		return exit.Failf(exit.Unavailable, "create the lock table in %s: %w", s.At.Shown, err)
	}
	return nil
}

// migrated reports whether the file has all migrations that this version of rowlock knows.
func (s *Store) migrated(ctx context.Context) (bool, error) {
	list, err := migrations.Status(ctx, s.DB, migrations.SQLite, migrations.Table(s.Table.String()))
	if errors.Is(err, migrations.ErrMadeElsewhere) {
		return true, nil // the user's own migrations manage the tables, so there is nothing to migrate
	}
	if err != nil {
		return false, exit.Failf(exit.Unavailable, "inspect the lock table in %s: %w", s.At.Shown, err)
	}
	return !slices.ContainsFunc(list, func(m migrations.MigrationStatus) bool { return !m.Applied }), nil
}

// TablesOfFile returns how many lock tables the file has (0 or 1), and how many tables of other programs. The first
// request switches a new file to WAL mode. If two processes switch the mode at the same time, SQLite may return an
// error to one of them at once, without waiting for busy_timeout (https://sqlite.org/c3ref/busy_handler.html). So
// TablesOfFile retries until ctx ends.
func (s *Store) TablesOfFile(ctx context.Context) (ready, others int, err error) {
	statement := s.StatementIn(statementFiles, "sql", "tables_of_file")
	for {
		err = s.DB.QueryRowContext(ctx, statement, s.Table.Name()).Scan(&ready, &others)
		if !isBusy(err) {
			return ready, others, err
		}
		select {
		case <-time.After(time.Millisecond + rand.N(20*time.Millisecond)):
		case <-ctx.Done():
			return 0, 0, err
		}
	}
}

// isBusy reports whether err means that another process had locked the file. The low byte of SQLite's code is the
// primary result code (https://sqlite.org/rescode.html).
func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

// ExecUnflushed runs a statement on a SQLite file. With a write-ahead log it does not wait until the write is flushed to
// the disk. A crash of the machine may then lose the write. With a rollback journal every write is flushed, because the
// file could be damaged otherwise.
func (s *Store) ExecUnflushed(ctx context.Context, statement string, args ...any) (sql.Result, error) {
	conn, err := s.DB.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var journal string
	if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&journal); err != nil {
		return nil, err
	}
	if journal != "wal" {
		return conn.ExecContext(ctx, statement, args...)
	}
	defer func() {
		if _, err := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA synchronous = FULL"); err != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // closes the connection, on which grants would not be flushed
		}
	}()
	if _, err := conn.ExecContext(ctx, "PRAGMA synchronous = NORMAL"); err != nil {
		return nil, err
	}
	return conn.ExecContext(ctx, statement, args...)
}

// OpenReadOnly opens a SQLite file for reading, and never creates a file.
func OpenReadOnly(at Location, table sqltable.Table) (*Store, error) {
	db, err := sql.Open("sqlite", readOnlyDSN(at.Path))
	if err != nil {
		return nil, exit.Failf(exit.Internal, "open %s: %w", at.Shown, err)
	}
	s := &Store{At: at, Table: table, DB: db, Leases: sqllock.SQLite(db, sqllock.Table(table.String()))}
	s.Backend = s.Leases
	s.closers = append(s.closers, func() { _ = db.Close() })
	return s, nil
}

// readOnlyDSN returns an address for the driver. With this address the driver opens the file only for reading.
func readOnlyDSN(path string) string {
	dsn, query, _ := strings.Cut(sqliteDSN(path), "?")
	values, _ := url.ParseQuery(query) // cannot fail: sqliteDSN has made the query
	values.Set("mode", "ro")
	values["_pragma"] = []string{"busy_timeout(2000)", "query_only(1)"}
	values.Del("_txlock")
	return dsn + "?" + values.Encode()
}
