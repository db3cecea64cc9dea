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

// Guard keeps stale holders out of the data of one database. It is safe for concurrent use and owns
// nothing: the pool stays the caller's to close.
type Guard struct {
	dialect dialect
	db      *sql.DB       // one of the two
	pool    *pgxpool.Pool // is nil
	deaf    bool          // the driver may not heed the context of a statement
	domain  string        // of the tokens, in place of the kind of store
	lazy    bool          // a check raises the mark itself
	claimed *sync.Map     // claimant: what leases have claimed that are still held
	slots   *slots        // in which transactions leave their outcome
	place   driver.Place  // of the marks
	passing bool          // checks are to be noticed by protected tables
	err     error         // why it cannot work
}

var _ rowlock.Sealer = (*Guard)(nil)

// dialect is one family of databases. Its errors are a *StaleError, a *SchemaError, one marked by
// retry, or what the driver said.
type dialect interface {
	// seal raises the marks of c in a transaction of its own, once. ctx has a deadline.
	seal(ctx context.Context, c claim) error
	// own runs work in a READ COMMITTED transaction of its own, once, which waits for no lock longer
	// than ctx permits. ctx has a deadline.
	own(ctx context.Context, work func(querier) error) error
	// look runs work, which reads only, without waiting for anybody's transaction. ctx has a deadline.
	look(ctx context.Context, work func(querier) error) error
	// list, reset, resetAll and forget are what an operator's calls do with the marks, in own or look.
	list(ctx context.Context, q querier, namespace string, all bool) ([]Mark, error)
	reset(ctx context.Context, q querier, namespace, resource string, seen rowlock.Token) error
	resetAll(ctx context.Context, q querier, namespace string, all bool) error
	forget(ctx context.Context, q querier, unused time.Duration, last Mark) ([]Mark, error)
	// check locks the marks of c to the end of q's transaction and compares. ctx has a deadline.
	check(ctx context.Context, q querier, c claim) error
	// held is nil if the lease of c is alive, and reads only. ctx has a deadline.
	held(ctx context.Context, q querier, c claim) error
	// release ends the lease of c with q's transaction. ctx has a deadline.
	release(ctx context.Context, q querier, c claim) error
	// keeper is the kind of backend that keeps its leases in such a database.
	keeper() string
	// checkRow locks a row to the end of q's transaction, compares its token and raises it. ctx has a
	// deadline. What again recognises is not marked yet.
	checkRow(ctx context.Context, q querier, r keyedRow, c claim) error
	// begun is nil if q is in a transaction that keeps its locks until it ends. Something was read with a lock before.
	begun(ctx context.Context, q querier) error
	// again recognises what the database undid and what may succeed when it is run again.
	again(err error) bool

	// note writes the slot in q's transaction. ctx has a deadline.
	note(ctx context.Context, q querier, s slot) error
	// outcome is the operation that was committed last with the slot, or 0, once no transaction has the
	// slot any more. ctx has a deadline.
	outcome(ctx context.Context, id string) (operation int64, err error)
	// refused recognises a commit's error that is the database's own answer.
	refused(err error) bool
	// explain says what stands behind an error that does not.
	explain(err error) error
	// pruneOutcomes forgets the slots that were not used for so long.
	pruneOutcomes(ctx context.Context, unused time.Duration) (int, error)
	passer
	triggering
}

// Postgres guards data in a PostgreSQL database (12 or newer) reached through database/sql, with any
// driver that speaks $1 parameters (pgx's stdlib, lib/pq).
func Postgres(db *sql.DB, opts ...Option) *Guard {
	deaf := db != nil && !bounded.IsPgx(db)
	return build(Guard{db: db, deaf: deaf}, opts, func(t sqltable.Table) dialect { return newPostgres(sqlTransactions(db, deaf), t) })
}

// Pgx guards data in a PostgreSQL database reached through a pgx pool. Use [Guard.CheckPgx] and
// [Guard.TxPgx] with it.
func Pgx(pool *pgxpool.Pool, opts ...Option) *Guard {
	return build(Guard{pool: pool}, opts, func(t sqltable.Table) dialect { return newPostgres(pgxTransactions(pool), t) })
}

// MySQL guards data in InnoDB tables of a MySQL (8.0 or newer) or MariaDB (10.6 or newer) database
// reached through go-sql-driver/mysql.
func MySQL(db *sql.DB, opts ...Option) *Guard {
	return build(Guard{db: db}, opts, func(t sqltable.Table) dialect { return newMySQL(db, t) })
}

// SQLite guards data in a SQLite (3.35 or newer) database file on a local disk, reached through any
// driver for database/sql.
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
		g.err = fmt.Errorf("fence: domain %q: that is the domain of tokens that Claim makes", o.domain)
	}
	g.domain, g.slots = o.domain, new(slots)
	g.lazy, g.claimed = o.lazy, new(sync.Map)
	g.passing = o.passing
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

// Validate reports an option that cannot work, which every other call reports as well.
func (g *Guard) Validate() error { return g.err }
