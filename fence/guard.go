package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/bounded"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// Guard rejects stale holders when they use the data of one database. It is safe for concurrent use.
// It never closes the pool, which belongs to the caller.
type Guard struct {
	dialect dialect
	db      *sql.DB // db or pool is nil
	pool    *pgxpool.Pool
	deaf    bool         // the driver may ignore the context of a statement
	domain  string       // store's name in the token domains; if empty, the name is the backend's kind
	lazy    bool         // a check raises the mark itself
	claimed *sync.Map    // claims of leases that are still held; the keys are of type claimant
	slots   *slots       // the outcome rows of this guard's transactions
	place   driver.Place // where the marks are stored
	passing bool         // each check is also recorded for protected tables (option Protected)
	err     error        // the error of an invalid option, which every call returns

	settleLimit time.Duration // the time limit for finding out the outcome of a commit
}

var _ rowlock.Sealer = (*Guard)(nil)

// dialect implements a guard for one family of databases. Its methods return a *StaleError, a *SchemaError,
// an error that retry has wrapped, or the driver's error.
type dialect interface {
	// seal raises the marks of c in a transaction that it begins and commits itself. It does not retry.
	// ctx has a deadline.
	seal(ctx context.Context, c claim) error
	// own runs work once, in a READ COMMITTED transaction that it begins and commits itself. It stops waiting for locks
	// before ctx ends. ctx has a deadline.
	own(ctx context.Context, work func(querier) error) error
	// look runs work, which must only read. look does not wait for other transactions. ctx has a deadline.
	look(ctx context.Context, work func(querier) error) error
	// list, reset, resetAll and forget do the work of Marks, Reset, ResetAll and Prune. The caller runs list inside the
	// method look, and the other three inside the method own.
	list(ctx context.Context, q querier, namespace string, all bool) ([]Mark, error)
	reset(ctx context.Context, q querier, namespace, resource string, seen rowlock.Token) error
	resetAll(ctx context.Context, q querier, namespace string, all bool) error
	forget(ctx context.Context, q querier, unused time.Duration, last Mark) ([]Mark, error)
	// check compares the marks of c, and locks them until q's transaction ends. ctx has a deadline.
	check(ctx context.Context, q querier, c claim) error
	// held returns nil if the lease of c is alive. It only reads. ctx has a deadline.
	held(ctx context.Context, q querier, c claim) error
	// release ends the lease of c when q's transaction commits. ctx has a deadline.
	release(ctx context.Context, q querier, c claim) error
	// keeper returns the kind of the backend that stores leases in a database of this dialect.
	keeper() string
	// checkRow locks a row until q's transaction ends, compares its token and raises it. ctx has a deadline. checkRow
	// does not call the function retry: if the method again returns true for an error, the caller of checkRow calls
	// retry.
	checkRow(ctx context.Context, q querier, r keyedRow, c claim) error
	// begun returns nil if q is in a transaction, which keeps its locks until the transaction ends. The caller must
	// have executed a locking read in q before it calls begun.
	begun(ctx context.Context, q querier) error
	// again reports whether err means that the database rolled the transaction back, and may accept it if it runs
	// again.
	again(err error) bool

	// note writes the outcome row s in q's transaction. ctx has a deadline.
	note(ctx context.Context, q querier, s slot) error
	// outcome waits until no open transaction uses the outcome row. It returns the last operation number that was
	// committed in that row, or 0. ctx has a deadline.
	outcome(ctx context.Context, id string) (operation int64, err error)
	// refused reports whether the database itself sent err as its answer. Other errors come from the driver,
	// for example because the connection broke.
	refused(err error) bool
	// explain adds the cause to an error of a statement if the database's text does not name the cause.
	explain(err error) error
	// pruneOutcomes deletes outcome rows that were not used for the time unused.
	pruneOutcomes(ctx context.Context, unused time.Duration) (int, error)
	passer
	triggering
}

// Postgres returns a guard for data in a PostgreSQL database (12 or newer) that is accessed through database/sql. The
// driver can be any that supports $1 parameters (pgx's stdlib, lib/pq).
func Postgres(db *sql.DB, opts ...Option) *Guard {
	deaf := db != nil && !bounded.IsPgx(db)
	return build(Guard{db: db, deaf: deaf}, opts, func(t sqltable.Table) dialect { return newPostgres(sqlTransactions(db, deaf), t) })
}

// Pgx returns a guard for data in a PostgreSQL database that is accessed through a pgx pool. Use [Guard.CheckPgx] and
// [Guard.TxPgx] with it.
func Pgx(pool *pgxpool.Pool, opts ...Option) *Guard {
	return build(Guard{pool: pool}, opts, func(t sqltable.Table) dialect { return newPostgres(pgxTransactions(pool), t) })
}

// MySQL returns a guard for data in InnoDB tables of a MySQL (8.0 or newer) or MariaDB (10.6 or newer) database that is
// accessed through go-sql-driver/mysql.
func MySQL(db *sql.DB, opts ...Option) *Guard {
	return build(Guard{db: db}, opts, func(t sqltable.Table) dialect { return newMySQL(db, t) })
}

// SQLite returns a guard for data in a SQLite (3.35 or newer) database file on a local disk, through any driver for
// database/sql.
func SQLite(db *sql.DB, opts ...Option) *Guard {
	return build(Guard{db: db}, opts, func(t sqltable.Table) dialect { return newSQLite(db, t) })
}

func build(g Guard, opts []Option, open func(sqltable.Table) dialect) *Guard {
	o := options{table: sqltable.Default}
	for _, opt := range opts {
		opt(&o)
	}
	table, err := sqltable.Parse(o.table)
	if err != nil {
		g.err = fmt.Errorf("fence: %w", err)
	}
	if len(o.domain) > maxDomain || !utf8.ValidString(o.domain) || strings.ContainsAny(o.domain, " \x00") {
		g.err = fmt.Errorf("fence: domain %q: want at most %d bytes of UTF-8 without space or NUL", o.domain, maxDomain)
	}
	if o.domain == claims {
		g.err = fmt.Errorf("fence: domain %q is reserved for the tokens that Claim generates", o.domain)
	}
	g.domain, g.slots = o.domain, new(slots)
	g.lazy, g.claimed = o.lazy, new(sync.Map)
	g.passing, g.settleLimit = o.passing, settleLimit
	if g.db == nil && g.pool == nil {
		g.err = errors.New("fence: the database handle is nil")
	}
	if g.err == nil {
		g.dialect = open(table)
		g.place = driver.Place{DB: g.db, Table: table.String()}
		if g.pool != nil {
			g.place.DB = g.pool
		}
	}
	return &g
}

// Validate returns an error if an option of the guard is invalid. Every other method that can fail returns the same
// error.
func (g *Guard) Validate() error { return g.err }
