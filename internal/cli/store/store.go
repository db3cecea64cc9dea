// Package store opens the store that --store names, with TLS if the address asks for it, and with time limits.
// Location is the parsed address. Store is the open store with its backend. Store.Explain adds the store and a hint to
// an error.
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

// ConnectTimeout is the time limit for opening a connection to a server that may not answer. A test may shorten it.
var ConnectTimeout = 5 * time.Second

const (
	closeTimeout = time.Second
	// storeConns is the size of the connection pool. A renewal, a release and a listener for notifications can run at
	// the same time.
	storeConns = 4
)

// Store is an open store. The lock tables may be missing.
type Store struct {
	At      Location
	Table   sqltable.Table
	Backend Backend
	Leases  Backend // the backend for lease rows in the same database; equal to Backend unless Backend uses session locks
	DB      *sql.DB // the connection pool for migrations and the fence; nil for a store without tables
	// The clients of stores without tables. Only the field for this kind of store is set. ZooKeeper has no such field.
	Etcd   *clientv3.Client
	Redis  redis.UniversalClient
	Nodes  []*redis.Client // of Redlock
	Secure *tls.Config     // nil: without TLS
	// Unbounded lists the timeout parameters that the address lacks, for doctor.
	Unbounded []string
	// Exits says that the process exits after Close, so that the system closes the files of the process.
	Exits   bool
	closers []func()
}

// Backend is the interface with the methods of a backend that the command needs.
type Backend interface {
	driver.Backend
	driver.Operator
}

// Open opens a store. It does no I/O, with two exceptions: it may create a SQLite file, and it connects to etcd and
// ZooKeeper. These steps end when ctx ends.
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

// Close closes the connections of the store. It waits only briefly for a server that hangs, because the process ends
// afterwards.
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

// Explain adds the store's address to an error, and says how to create a missing table.
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

// Line returns a command line for messages: command with the options and the name of one lock in this store.
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

// Look adds a command line to the error of a request whose outcome is unknown. With that command line a user can see
// the outcome.
func (s *Store) Look(key driver.Key, err error) error {
	if exit.Code(err) != exit.Unknown {
		return err
	}
	return exit.Failf(exit.Unknown, "%w; look with: %s", s.Explain(err), s.Line("status", key))
}

// Flags returns the command-line options that name this store and its table, for a command line in a message.
func (s *Store) Flags() string {
	var flags string
	if s.At.ByName {
		flags = " --store " + terminal.ShellQuoted(s.At.Shown)
		if strings.Contains(s.At.Shown, masked) { // an address with a masked password would not work if it is pasted
			flags = ` --store "$ROWLOCK_STORE"`
		}
	}
	if s.Table.String() != sqltable.Default {
		flags += " --table " + s.Table.String()
	}
	return flags
}

// Hash returns a text that identifies the store in an environment variable without revealing its address.
func (s *Store) Hash() string {
	sum := sha256.Sum256([]byte(s.At.Shown + " " + s.Table.String()))
	return hex.EncodeToString(sum[:8])
}

// EndsWith returns "connection" or "session" if a lock of this store ends together with its connection or session. If a
// lock ends at a known time, it returns an empty text.
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

// Nameless reports whether the store knows only which connection holds a lock, and neither the names of locks nor
// earlier holders.
func (s *Store) Nameless() bool { return s.Backend.Capabilities().Anonymous }

// Guard returns a fence guard for the store's database.
func (s *Store) Guard() *fence.Guard {
	open := map[migrations.Dialect]func(*sql.DB, ...fence.Option) *fence.Guard{
		migrations.SQLite: fence.SQLite, migrations.Postgres: fence.Postgres, migrations.MySQL: fence.MySQL,
	}[s.At.Dialect]
	return open(s.DB, fence.Table(s.Table.String()))
}
