// Package store makes of the value of --store a backend: where it is (Location), what it is reached by (Store), and what an
// error of it means to somebody at a command line. A database is opened with TLS, bounds and privileges that a lock needs.
package store

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"database/sql"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

const (
	// ConnectTimeout bounds a connect, so that a server that hangs is reported and not waited for.
	ConnectTimeout = 5 * time.Second
	closeTimeout   = time.Second
	// storeConns is enough for a renewal, a release and a wake-up at the same moment.
	storeConns = 4
)

// Store is an opened database with a lock table, or with none yet.
type Store struct {
	At      Location
	Table   sqltable.Table
	Backend Backend
	Leases  Backend // the lease rows of the same database, which are Backend unless sessions hold the locks
	DB      *sql.DB // for migrations; nil without tables
	// What a store without tables is reached by: one of them, and none of ZooKeeper.
	Etcd   *clientv3.Client
	Redis  redis.UniversalClient
	Nodes  []*redis.Client // of Redlock
	Secure *tls.Config     // nil: without TLS
	// Unbounded are the settings that bound a connect and that the address does not have.
	Unbounded []string
	closers   []func()
}

// Backend is what the command needs of a backend.
type Backend interface {
	driver.Backend
	driver.Operator
}

// Open makes the handle of a store. It does no I/O but for a SQLite file, which is created, and for etcd and ZooKeeper,
// to which it connects. ctx bounds that.
func Open(ctx context.Context, at Location, table sqltable.Table) (*Store, error) {
	s := &Store{At: at, Table: table}
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, err
	}
	if s.Backend == nil {
		s.Backend = s.Leases
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	table := sqllock.Table(s.Table.String())
	switch s.At.Dialect {
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

// Close closes what was opened. It does not wait long for a server that hangs: the process ends.
func (s *Store) Close() {
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

// Explain says where the store is that could not be asked, and how a missing table is mended.
func (s *Store) Explain(err error) error {
	var schema *sqllock.SchemaError
	if errors.As(err, &schema) {
		return exit.Failf(exit.Unavailable, "the lock table %s is missing or out of date in %s; create it with: rowlock migrate up%s (%w)",
			s.Table, s.At.Shown, s.Flags(), schema.Err)
	}
	if what := missingToken(err); what != "" {
		return exit.Failf(exit.Unavailable, "%s is missing in %s; create it with: rowlock migrate up%s", what, s.At.Shown, s.Flags())
	}
	var fenced *fence.SchemaError
	if errors.As(err, &fenced) {
		return exit.Failf(exit.Unavailable, "the fence table %s_fence is missing or out of date in %s; create it with: rowlock migrate up%s (%w)",
			s.Table, s.At.Shown, s.Flags(), fenced.Err)
	}
	where := " (store " + s.At.Shown + ")"
	if code := exit.Code(err); (code == exit.Unavailable || code == exit.Unknown) && !strings.Contains(err.Error(), where) {
		return exit.Failf(code, "%s%s", CommandTerms.Replace(err.Error()), where)
	}
	return err
}

// Line is a command line for a message: one command for one lock of this store.
func (s *Store) Line(command string, key driver.Key) string {
	line := "rowlock " + command + s.Flags()
	if key.Namespace != "" {
		line += " --namespace " + terminal.ShellQuoted(key.Namespace)
	}
	if strings.HasPrefix(key.Name, "-") {
		line += " --"
	}
	return line + " " + terminal.ShellQuoted(key.Name)
}

// Look says, of a request whose outcome is unknown, how to find it out.
func (s *Store) Look(key driver.Key, err error) error {
	if exit.Code(err) != exit.Unknown {
		return err
	}
	return exit.Failf(exit.Unknown, "%w; look with: %s", s.Explain(err), s.Line("status", key))
}

// Flags are those that name this store, for a command line in a message.
func (s *Store) Flags() string {
	var flags string
	if s.At.ByName {
		flags = " --store " + terminal.ShellQuoted(s.At.Shown)
		if strings.Contains(s.At.Shown, masked) { // which could not be pasted
			flags = ` --store "$ROWLOCK_STORE"`
		}
	}
	if s.Table.String() != sqltable.Default {
		flags += " --table " + s.Table.String()
	}
	return flags
}

// Hash tells stores apart in an environment, and nothing of them.
func (s *Store) Hash() string {
	sum := sha256.Sum256([]byte(s.At.Shown + " " + s.Table.String()))
	return hex.EncodeToString(sum[:8])
}

// EndsWith is what a lock ends with where nobody can see when it does.
func (s *Store) EndsWith() string {
	switch {
	case s.At.Session != "":
		return "connection"
	case s.At.KeyValue != nil && s.At.KeyValue.untimed:
		return "session"
	default:
		return ""
	}
}

// Nameless says whether the store keeps of a lock only that it is held, and by which connection.
func (s *Store) Nameless() bool { return s.Backend.Capabilities().Anonymous }

// Guard is the fence of the store.
func (s *Store) Guard() *fence.Guard {
	open := map[migrations.Dialect]func(*sql.DB, ...fence.Option) *fence.Guard{
		migrations.SQLite: fence.SQLite, migrations.Postgres: fence.Postgres, migrations.MySQL: fence.MySQL,
	}[s.At.Dialect]
	return open(s.DB, fence.Table(s.Table.String()))
}
