package cli

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// Bounds of what the command does with a store besides waiting for a lock, so that one that hangs
// is reported and not waited for.
const (
	connectTimeout = 5 * time.Second
	inspectTimeout = 10 * time.Second
	migrateTimeout = time.Minute
	pruneTimeout   = 10 * time.Minute // each of its transactions has a bound of its own
	closeTimeout   = time.Second
	// storeConns is enough for a renewal, a release and a wake-up at the same moment.
	storeConns = 4
)

// store is an opened database with a lock table, or with none yet.
type store struct {
	at      location
	table   sqltable.Table
	backend backend
	leases  backend // the lease rows of the same database, which are backend unless sessions hold the locks
	db      *sql.DB // for migrations; nil without tables
	// examined is what doctor looks at in a store without tables.
	examined []check
	// unbounded are the settings that bound a connect and that the address does not have.
	unbounded []string
	closers   []func()
}

// backend is what the command needs of one.
type backend interface {
	driver.Backend
	driver.Operator
}

// openStore makes the handle of the store that the flags name. It does no I/O but for a SQLite
// file, which is created, and migrated if nobody else's tables are in it, and for etcd and ZooKeeper,
// to which it connects. ctx bounds that.
func (a *app) openStore(ctx context.Context) (*store, error) {
	s, err := a.openUnmigrated(ctx)
	if err != nil {
		return nil, err
	}
	if a.store == "" && screenWidth(a.std.Err) == 0 {
		a.log.say(levelWarn, "local store", fmt.Sprintf("no --store and no ROWLOCK_STORE: locks are kept in %s, and exclude only %s (--store=%s, if that is meant)",
			s.at.shown, s.at.excludes(), localStore), slog.String("store", s.at.shown))
	}
	if s.at.dialect == migrations.SQLite {
		ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
		defer cancel()
		if err := s.prepareSQLite(ctx); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// openUnmigrated makes the handle without touching the schema.
func (a *app) openUnmigrated(ctx context.Context) (*store, error) {
	table, err := sqltable.Parse(a.table)
	if err != nil {
		return nil, usage("--table: %w", err)
	}
	at, err := a.location()
	if err != nil {
		return nil, err
	}
	s := &store{at: at, table: table}
	if err := s.open(ctx); err != nil {
		s.close()
		return nil, err
	}
	if s.backend == nil {
		s.backend = s.leases
	}
	return s, nil
}

func (s *store) open(ctx context.Context) error {
	table := sqllock.Table(s.table.String())
	switch s.at.dialect {
	case migrations.SQLite:
		return s.openSQLite(table)
	case migrations.Postgres:
		return s.openPostgres(table)
	case migrations.MySQL:
		return s.openMySQL(table)
	default:
		return s.openKeyValue(ctx)
	}
}

// location is where --store says that the store is, or the default.
func (a *app) location() (location, error) {
	if a.store == "" || a.store == localStore {
		return defaultLocation(a.std.Env)
	}
	at, err := parseLocation(a.store)
	if err != nil {
		return location{}, usage("--store: %w", err)
	}
	return at, nil
}

// close closes what was opened. It does not wait long for a server that hangs: the process ends.
func (s *store) close() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, f := range s.closers {
			f()
		}
	}()
	select {
	case <-done:
	case <-time.After(closeTimeout):
	}
}

// explain says where the store is that could not be asked, and how a missing table is mended.
func (s *store) explain(err error) error {
	var schema *sqllock.SchemaError
	if errors.As(err, &schema) {
		return fail(exitUnavailable, "the lock table %s is missing or out of date in %s; create it with: rowlock migrate up%s (%w)",
			s.table, s.at.shown, s.flags(), schema.Err)
	}
	if what := missingToken(err); what != "" {
		return fail(exitUnavailable, "%s is missing in %s; create it with: rowlock migrate up%s", what, s.at.shown, s.flags())
	}
	var fenced *fence.SchemaError
	if errors.As(err, &fenced) {
		return fail(exitUnavailable, "the fence table %s_fence is missing or out of date in %s; create it with: rowlock migrate up%s (%w)",
			s.table, s.at.shown, s.flags(), fenced.Err)
	}
	where := " (store " + s.at.shown + ")"
	if code := exitCode(err); (code == exitUnavailable || code == exitUnknown) && !strings.Contains(err.Error(), where) {
		return fail(code, "%s%s", inCommandTerms.Replace(err.Error()), where)
	}
	return err
}

// line is a command line for a message: one command for one lock of this store.
func (s *store) line(command string, key driver.Key) string {
	line := "rowlock " + command + s.flags()
	if key.Namespace != "" {
		line += " --namespace " + shellQuoted(key.Namespace)
	}
	if strings.HasPrefix(key.Name, "-") {
		line += " --"
	}
	return line + " " + shellQuoted(key.Name)
}

// look says, of a request whose outcome is unknown, how to find it out.
func (s *store) look(key driver.Key, err error) error {
	if exitCode(err) != exitUnknown {
		return err
	}
	return fail(exitUnknown, "%w; look with: %s", s.explain(err), s.line("status", key))
}

// flags are those that name this store, for a command line in a message.
func (s *store) flags() string {
	var flags string
	if s.at.byName {
		flags = " --store " + shellQuoted(s.at.shown)
		if strings.Contains(s.at.shown, masked) { // which could not be pasted
			flags = ` --store "$ROWLOCK_STORE"`
		}
	}
	if s.table.String() != sqltable.Default {
		flags += " --table " + s.table.String()
	}
	return flags
}
