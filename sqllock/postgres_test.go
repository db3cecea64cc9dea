package sqllock_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// A grant, a refusal, a renewal of any number of leases, and a release are one statement each. So each takes one
// round trip once the statement is prepared.
func TestPostgresSendsOneStatementAnOperation(t *testing.T) {
	p := newPostgresTest(t)
	one := func(what string) {
		t.Helper()
		assert.Len(t, p.sent.take(), 1, what)
	}
	acquire(t, p.Backend, request("first of all, which makes the server known"))
	p.sent.take()
	r := request("job")
	g := acquire(t, p.Backend, r)
	one("grant of a name never seen")
	refused(t, p.Backend, request("job"))
	one("refusal")
	renew(t, p.Backend, g, driver.Grant{Nonce: r.Nonce})
	one("renewal")
	require.NoError(t, p.Release(t.Context(), g))
	one("release")
	acquire(t, p.Backend, request("job"))
	one("grant")
}

// A request that waits first sends the short statement, which grants a free lock. If the lock is not granted, the full
// statement grants it or says why. A retry with the same nonce returns the same grant.
func TestPostgresGrantsAFreeLockWithAShortStatement(t *testing.T) {
	p := newPostgresTest(t)
	for what, ask := range map[string]func(name string) driver.Request{"exclusive": request, "shared": reading} {
		t.Run(what, func(t *testing.T) {
			sends := func(want int, what string) {
				t.Helper()
				assert.Len(t, p.sent.take(), want, what)
			}
			waits := func() driver.Request {
				r := ask(what)
				r.Waits = true
				return r
			}
			grant := func(r driver.Request) driver.Grant {
				t.Helper()
				g, err := p.Acquire(t.Context(), r)
				require.NoError(t, err)
				return g
			}
			grant(ask("first of all, which makes the server known: " + what))
			p.sent.take()
			first := grant(waits())
			sends(map[string]int{"exclusive": 2, "shared": 4}[what], "a name never seen")
			require.NoError(t, p.Release(t.Context(), first))
			p.sent.take()
			r := waits()
			second := grant(r)
			sends(1, "a free lock")
			assert.Greater(t, second.Token, first.Token)
			assert.Equal(t, second, grant(r), "the same nonce")
			p.sent.take()
			writer := request(what)
			writer.Waits = true
			refused(t, p.Backend, writer)
			plan := p.explain(t, "EXPLAIN (ANALYZE, WAL)", p.sent.take()[0])
			assert.NotContains(t, plan, "WAL: records", "a refused request")
			require.ErrorIs(t, p.Release(t.Context(), driver.Grant{Key: writer.Key, Nonce: writer.Nonce}), driver.ErrNotHeld, "the writer gives up")
			tx, err := p.raw.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			require.NoError(t, p.Release(t.Context(), second))
			_, err = tx.ExecContext(t.Context(), p.sql("SELECT FROM rowlock_lease FOR UPDATE"))
			require.NoError(t, err)
			assert.Equal(t, driver.Contended, refused(t, p.Backend, waits()).Reason)
			require.NoError(t, tx.Rollback())
		})
	}
}

// The short statements, which a request that waits sends first, keep the rules of the full statements.
func TestPostgresShortStatementsKeepTheRules(t *testing.T) {
	p := newPostgresTest(t)
	for what, ask := range map[string]func(name string) driver.Request{"exclusive": request, "shared": reading} {
		t.Run(what, func(t *testing.T) {
			waits := func() driver.Request {
				r := ask(what)
				r.Waits = true
				return r
			}
			again := func() driver.Grant {
				t.Helper()
				g, err := p.Acquire(t.Context(), waits())
				require.NoError(t, err)
				require.NoError(t, p.Release(t.Context(), g))
				return g
			}
			again()
			p.exec(t, "UPDATE rowlock_lease_meta SET quarantined_until = clock_timestamp() + interval '1 hour'")
			assert.Equal(t, driver.Quarantine, refused(t, p.Backend, waits()).Reason)
			p.exec(t, "UPDATE rowlock_lease_meta SET quarantined_until = '-infinity', epoch = 'another server'")
			assert.Equal(t, driver.Quarantine, refused(t, p.Backend, waits()).Reason, "the server has changed")
			p.exec(t, "UPDATE rowlock_lease_meta SET quarantined_until = '-infinity', longest_ttl_us = 1")
			again()
			assert.EqualValues(t, waits().TTL.Microseconds(), p.int(t, "SELECT longest_ttl_us FROM rowlock_lease_meta"))
			p.exec(t, "UPDATE rowlock_lease_meta SET floor = 9000000000000000")
			token := again().Token
			assert.EqualValues(t, 9000000000000001, token, "larger than the floor")
			p.exec(t, "UPDATE rowlock_lease_meta SET floor = 0")
			assert.Equal(t, token+1, again().Token, "larger than the last token")
			p.exec(t, "UPDATE rowlock_lease SET held_until = clock_timestamp() + interval '1 hour'")
			assert.Equal(t, driver.MinHold, refused(t, p.Backend, waits()).Reason)
			p.exec(t, "UPDATE rowlock_lease SET held_until = 'epoch'")
		})
	}
}

// A refused request locks no row and writes no WAL.
func TestPostgresWritesNothingInVain(t *testing.T) {
	p := newPostgresTest(t)
	g := acquire(t, p.Backend, request("job"))
	closed := request("closed")
	closed.MinHold = time.Hour
	require.NoError(t, p.Release(t.Context(), acquire(t, p.Backend, closed)))
	lost := g
	lost.Nonce = driver.NewNonce()
	rows := func() (all string) {
		for _, table := range []string{"rowlock_lease", "rowlock_lease_meta"} {
			var part sql.NullString
			require.NoError(t, p.raw.QueryRowContext(t.Context(),
				p.sql("SELECT string_agg(concat(ctid, ' ', xmin, ' ', xmax), ',') FROM "+table)).Scan(&part))
			all += part.String + ";"
		}
		return all
	}
	before := rows()
	p.sent.take()
	refused(t, p.Backend, request("job"))
	refused(t, p.Backend, request("closed"))
	renew(t, p.Backend, lost)
	require.ErrorIs(t, p.Release(t.Context(), lost), driver.ErrNotHeld)
	require.ErrorIs(t, p.ForceRelease(t.Context(), g.Key, g.Token-1, true), driver.ErrNotHeld)
	assert.Equal(t, before, rows())
	for _, s := range p.sent.take() {
		plan := p.explain(t, "EXPLAIN (ANALYZE, WAL)", s)
		assert.NotContains(t, plan, "WAL: records", s.SQL)
	}
	assert.Equal(t, before, rows())
}

// The planner uses the primary key for each grant of a batch, whatever the statistics of the table are.
func TestPostgresRenewsByPrimaryKey(t *testing.T) {
	p := newPostgresTest(t)
	grants := make([]driver.Grant, 1000)
	for i := range grants {
		grants[i] = driver.Grant{Key: driver.Key{Name: fmt.Sprintf("job %d", i*97)}, Nonce: driver.NewNonce(), Token: 1, TTL: time.Minute}
	}
	p.exec(t, `INSERT INTO rowlock_lease SELECT '', 'job ' || i, 1, md5(i::text)::uuid, '', '', now(), now() + interval '1 hour', now() + interval '1 hour'
		FROM generate_series(1, 100000) i`)
	for _, known := range []bool{false, true} {
		if known {
			p.exec(t, "ANALYZE rowlock_lease")
		}
		p.sent.take()
		renew(t, p.Backend, grants...)
		plan := p.explain(t, "EXPLAIN (ANALYZE)", p.sent.take()[0])
		assert.NotContains(t, plan, "Seq Scan on "+p.table, "analyzed: %v\n%s", known, plan)
		t.Log(plan[strings.Index(plan, "Planning Time"):])
	}
}

// Renewals are heap-only updates: no index is touched, and no page is split.
func TestPostgresRenewalsAreHeapOnly(t *testing.T) {
	p := newPostgresTest(t)
	g := acquire(t, p.Backend, request("job"))
	p.sent.take()
	renew(t, p.Backend, g)
	s, conn := p.sent.take()[0], session(t, p.dsn)
	for range 200 {
		_, err := conn.Exec(t.Context(), s.SQL, s.Args...)
		require.NoError(t, err)
	}
	require.NoError(t, conn.Close(t.Context())) // closing the session makes it report its statistics at once
	var updates, hot int64
	until(t, "the statistics of 200 updates", func() bool {
		require.NoError(t, p.raw.QueryRowContext(t.Context(),
			"SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = $1", p.table).Scan(&updates, &hot))
		return updates >= 200
	})
	assert.GreaterOrEqual(t, hot, updates*9/10)
}

// A grant and a renewal are durable even if the session commits asynchronously by default. If a renewal were lost in
// a crash, the lease could end before the deadline that its holder relies on. A release waits for the disk only if it
// records a tick. The statements change synchronous_commit for themselves only: the session's own value remains.
func TestPostgresChoosesItsDurability(t *testing.T) {
	p := newPostgresTest(t)
	acquire(t, p.Backend, request("first of all, which makes the server known"))
	setting := func(conn *pgx.Conn, name string) (value string) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&value))
		return value
	}
	// again runs each recorded statement in a transaction, in which the changed settings can be read.
	again := func(session, want, what string) {
		t.Helper()
		s := p.sent.take()[0]
		conn := p.async(t, session)
		tx, err := conn.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), s.SQL, s.Args...)
		require.NoError(t, err)
		assert.Equal(t, want, setting(conn, "synchronous_commit"), what)
		require.NoError(t, tx.Rollback(t.Context()))
		assert.Equal(t, session, setting(conn, "synchronous_commit"), what)
		assert.Equal(t, "0", setting(conn, "lock_timeout"), what)
	}
	renewed := acquire(t, p.Backend, request("renewed"))
	p.sent.take()
	renew(t, p.Backend, renewed)
	again("off", "on", "renewal")
	renew(t, p.Backend, renewed)
	again("local", "local", "renewal where the user chose otherwise")
	r := request("job")
	r.TTL = time.Millisecond
	p.sent.take()
	acquire(t, p.Backend, r)
	again("off", "on", "grant again of the same nonce")
	acquire(t, p.Backend, request("refused"))
	p.sent.take()
	refused(t, p.Backend, request("refused"))
	again("off", "off", "refusal")
	until(t, "expiry", func() bool { return inspect(t, p.Backend, "job").FreeIn == 0 })
	p.sent.take()
	g := acquire(t, p.Backend, request("job"))
	again("local", "local", "what the user chose otherwise is kept")
	for _, waits := range []driver.Request{request("free"), reading("free")} {
		waits.Waits = true
		for range 2 { // the second grant is made by the short statement
			p.sent.take()
			g, err := p.Acquire(t.Context(), waits)
			require.NoError(t, err)
			require.NoError(t, p.Release(t.Context(), g))
		}
		again("off", "on", "short statement")
	}
	p.exec(t, "CREATE TABLE rowlock_lease_before AS SELECT * FROM rowlock_lease")
	for tick, settings := range map[string][]string{"": {"on", "off"}, "tick": {"off", "on"}, "another": {"local", "local"}} {
		g.Done = tick
		p.sent.take()
		require.NoError(t, p.Release(t.Context(), g))
		p.exec(t, "DELETE FROM rowlock_lease")
		p.exec(t, "INSERT INTO rowlock_lease SELECT * FROM rowlock_lease_before")
		again(settings[0], settings[1], "release, tick "+tick)
	}
}

// If another transaction has inserted the row and not committed, the lock is reported as contended after a moment.
func TestPostgresDoesNotWaitForAnInsert(t *testing.T) {
	p := newPostgresTest(t)
	tx := p.begin(t)
	_, err := tx.ExecContext(t.Context(), p.sql("INSERT INTO rowlock_lease VALUES ('', 'job', 1, NULL, '', '', now(), now(), now())"))
	require.NoError(t, err)
	for _, r := range []driver.Request{request("job"), reading("job"), sealing()} {
		start := time.Now()
		assert.Equal(t, driver.Contended, refused(t, p.Backend, r).Reason)
		assert.Less(t, time.Since(start), atOnce)
	}
	require.NoError(t, tx.Rollback())
	acquire(t, p.Backend, request("job"))
}

// If a call is blocked on the server, it returns when its context ends. Its error is not marked NotApplied, because
// the outcome is unknown.
func TestPostgresCallsEndWithTheirContext(t *testing.T) {
	p := newPostgresTest(t)
	g := acquire(t, p.Backend, request("job"))
	table := p.int(t, "SELECT 'rowlock_lease'::regclass::oid::bigint")
	waiting := func() bool {
		return p.int(t, fmt.Sprint("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = ", table)) > 0
	}
	tx := p.begin(t)
	_, err := tx.ExecContext(t.Context(), p.sql("LOCK TABLE rowlock_lease IN ACCESS EXCLUSIVE MODE"))
	require.NoError(t, err)
	calls := map[string]func(context.Context) error{
		"acquire": func(ctx context.Context) error { _, err := p.Acquire(ctx, request("job")); return err },
		"renew":   func(ctx context.Context) error { _, err := p.Renew(ctx, []driver.Grant{g}); return err },
		"release": func(ctx context.Context) error { return p.Release(ctx, g) },
		"list":    func(ctx context.Context) error { _, err := p.List(ctx, "", true); return err },
		"prune":   func(ctx context.Context) error { _, err := p.Prune(ctx, 0); return err },
	}
	for what, call := range calls {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- call(ctx) }()
		until(t, what+" waits for the table", waiting)
		start := time.Now()
		cancel()
		err := <-ended
		require.ErrorIs(t, err, context.Canceled, what)
		assert.False(t, driver.IsNotApplied(err), what)
		assert.Less(t, time.Since(start), 5*time.Second, what)
		until(t, what+" has ended at the server", func() bool { return !waiting() })
	}
}

// If the server cannot be reached, or the pool has no free connection, the error says that the call had no effect.
func TestPostgresThatWasNotAskedAppliedNothing(t *testing.T) {
	t.Parallel()
	refusing, release, err := testserver.FreePort()
	require.NoError(t, err)
	defer release()
	dsn := fmt.Sprintf("postgres://nobody@127.0.0.1:%d/none", refusing)
	for name, b := range map[string]*sqllock.Backend{
		"database/sql": sqllock.Postgres(openDB(t, dsn)), "pgx": sqllock.Pgx(openPool(t, dsn)),
	} {
		_, err := b.Acquire(t.Context(), request("job"))
		require.True(t, driver.IsNotApplied(err), "%s: %v", name, err)
		require.False(t, driver.IsPermanent(err), name)
	}

	p := newPostgresTestWithin(t)
	db := openDB(t, p.dsn)
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = sqllock.Postgres(db, sqllock.Table(p.table)).Acquire(ctx, request("job"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.True(t, driver.IsNotApplied(err), "waited for a connection only: %v", err)
	require.NoError(t, tx.Rollback())
}

// On a read-only server, a call fails with a permanent error that says so.
func TestPostgresThatIsReadOnlyIsNoPlaceForLocks(t *testing.T) {
	p := newPostgresTest(t)
	b := p.recorded(t, with(t, p.dsn, "default_transaction_read_only=on"))
	_, err := b.Acquire(t.Context(), request("job"))
	require.True(t, driver.IsPermanent(err), "%v", err)
	assert.ErrorContains(t, err, "primary")
	err = b.Release(t.Context(), driver.Grant{Key: driver.Key{Name: "job"}})
	require.True(t, driver.IsPermanent(err), "%v", err)
}

// A restart of the server does not start a quarantine. A new timeline or another cluster starts the quarantine.
func TestPostgresKnowsARestartFromAFailover(t *testing.T) {
	p := newPostgresTest(t)
	g := acquire(t, p.Backend, request("job"))
	p.exec(t, "UPDATE rowlock_lease_meta SET epoch = left(epoch, -16) || 'a long time ago!'")
	acquire(t, p.Backend, request("after a restart"))
	for what, epoch := range map[string]string{
		"promoted": "split_part(epoch, '/', 1) || '/00000000/' || split_part(epoch, '/', 3)",
		"restored": "'1/' || split_part(epoch, '/', 2) || '/another beginning'",
	} {
		p.exec(t, "UPDATE rowlock_lease_meta SET epoch = "+epoch)
		require.Equal(t, driver.Quarantine, refused(t, p.Backend, request(what)).Reason, what)
		require.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, p.Backend, g))
		p.grow(t, time.Hour)
		g = acquire(t, p.Backend, request("job"))
	}
}

// The table's name and its schema may be keywords of SQL. Their case is kept, and the schema may be any schema.
func TestPostgresTableInASchemaOfItsOwn(t *testing.T) {
	p := newPostgresTest(t)
	schema := "Ops_" + p.table
	table := schema + ".Select"
	err := migrations.Up(t.Context(), p.raw, migrations.Postgres, migrations.Table(table))
	require.ErrorContains(t, err, "create it first")
	p.exec(t, `CREATE SCHEMA "`+schema+`"`)
	require.NoError(t, migrations.Up(t.Context(), p.raw, migrations.Postgres, migrations.Table(table)))
	b := p.connect(sqllock.Table(table))
	g := acquire(t, b, request("job"))
	assert.Equal(t, driver.StateFree, inspect(t, p.Backend, "job").State, "not the other table")
	require.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, b, g))
	require.NoError(t, b.Release(t.Context(), g))
	tx := p.begin(t)
	require.NoError(t, b.InTx(t.Context(), tx, "job"))
	require.NoError(t, tx.Commit())
	n, err := b.Prune(t.Context(), 0)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	steps, err := migrations.Status(t.Context(), p.raw, migrations.Postgres, migrations.Table(table))
	require.NoError(t, err)
	for range steps { // the last step drops the lease table
		require.NoError(t, migrations.Down(t.Context(), p.raw, migrations.Postgres, migrations.Table(table)))
	}
	outdated(t, table, map[string]error{"release": b.Release(t.Context(), g)})
}

// The minimum privileges that package migrations documents are enough for every call except Prune. If a privilege is
// missing, the error says so.
func TestPostgresNeedsFewPrivileges(t *testing.T) {
	p := newPostgresTest(t)
	role := "least_" + p.table
	p.exec(t, "CREATE ROLE "+role+" LOGIN")
	t.Cleanup(func() {
		_, err := p.raw.ExecContext(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
		require.NoError(t, err)
	})
	u := strings.Replace(p.dsn, "://postgres@", "://"+role+"@", 1)
	b := p.recorded(t, u)
	for call, err := range everyCall(t, p.store, b) {
		if call != "in transaction" { // the transaction of this call belongs to a role with all privileges
			assert.True(t, driver.IsPermanent(err), "%s: %v", call, err)
			assert.ErrorContains(t, err, "privilege", call)
		}
	}
	p.exec(t, "GRANT SELECT, INSERT, UPDATE ON rowlock_lease TO "+role)
	p.exec(t, "GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_lease_waiter TO "+role)
	p.exec(t, "GRANT SELECT, UPDATE (epoch, quarantined_until, longest_ttl_us) ON rowlock_lease_meta TO "+role)
	r := request("job")
	r.TTL = time.Hour
	g := acquire(t, b, r)
	require.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, b, g))
	require.NoError(t, b.ForceRelease(t.Context(), g.Key, g.Token, true))
	require.NoError(t, b.Release(t.Context(), acquire(t, b, r)))
	one, two := share(t, b, reading("job")), share(t, b, reading("job"))
	writer := request("job")
	writer.Waits = true
	refused(t, b, writer)
	p.exec(t, "UPDATE rowlock_lease SET writer_until = writer_until + interval '1 hour'")
	assert.Equal(t, driver.Reserved, refused(t, b, reading("job")).Reason)
	require.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, renew(t, b, one, two))
	require.NoError(t, b.Release(t.Context(), one))
	require.NoError(t, b.Release(t.Context(), two))
	require.NoError(t, b.Release(t.Context(), acquire(t, b, writer)))
	_, err := b.List(t.Context(), "", true)
	require.NoError(t, err)
	p.exec(t, "UPDATE rowlock_lease_meta SET epoch = 'another'")
	require.Equal(t, driver.Quarantine, refused(t, b, r).Reason)
	p.grow(t, 2*time.Hour)
	tx, err := openDB(t, u).BeginTx(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, b.InTx(t.Context(), tx, "another job"))
	require.NoError(t, tx.Commit())
	_, err = b.Prune(t.Context(), 0)
	require.True(t, driver.IsPermanent(err))
	p.exec(t, "GRANT DELETE ON rowlock_lease TO "+role)
	p.exec(t, "GRANT UPDATE (floor) ON rowlock_lease_meta TO "+role)
	n, err := b.Prune(t.Context(), 0)
	require.NoError(t, err)
	assert.Equal(t, 2, n)
}

// InTxPgx acquires the lock in a transaction of pgx, and leaves the lock_timeout of the transaction unchanged.
func TestPostgresInTxPgx(t *testing.T) {
	p := newPostgresTest(t)
	conn := session(t, with(t, p.dsn, "lock_timeout=12345ms"))
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	for range 2 { // the first round creates the row, the second finds it
		require.NoError(t, p.InTxPgx(t.Context(), tx, "job", sqllock.TxNamespace("ns")))
		var timeout string
		require.NoError(t, tx.QueryRow(t.Context(), "SHOW lock_timeout").Scan(&timeout))
		assert.Equal(t, "12345ms", timeout)
	}
	r := request("job")
	r.Key.Namespace = "ns"
	require.Equal(t, driver.Contended, refused(t, p.Backend, r).Reason)
	require.NoError(t, tx.Commit(t.Context()))
	acquire(t, p.Backend, r)

	sqlite := sqllock.SQLite(openSQLite(t, ":memory:"))
	tx, err = conn.Begin(t.Context())
	require.NoError(t, err)
	require.True(t, driver.IsPermanent(sqlite.InTxPgx(t.Context(), tx, "job")))
	require.NoError(t, tx.Rollback(t.Context()))
}

// If another transaction has inserted the row and not committed, InTx is refused as contended. The transaction and
// its lock_timeout are unchanged.
func TestPostgresInTxDoesNotWaitForAnInsert(t *testing.T) {
	p := newPostgresTest(t)
	first := p.begin(t)
	require.NoError(t, p.InTx(t.Context(), first, "job"))
	second, err := session(t, with(t, p.dsn, "lock_timeout=12345ms")).Begin(t.Context())
	require.NoError(t, err)
	require.Equal(t, driver.Contended, held(t, p.InTxPgx(t.Context(), second, "job")).Reason)
	var timeout string
	require.NoError(t, second.QueryRow(t.Context(), "SHOW lock_timeout").Scan(&timeout))
	assert.Equal(t, "12345ms", timeout)
	require.NoError(t, second.Commit(t.Context()))
	require.NoError(t, first.Commit())
}

// If the transaction already has a snapshot, InTx refuses it. It never returns success for a lock that another process
// holds, and the caller can continue to use the transaction.
func TestPostgresInTxWithAnOldSnapshot(t *testing.T) {
	p := newPostgresTest(t)
	require.NoError(t, p.Release(t.Context(), acquire(t, p.Backend, request("job"))))
	tx, err := p.raw.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	require.NoError(t, err)
	var one int
	require.NoError(t, tx.QueryRowContext(t.Context(), p.sql("SELECT count(*) FROM rowlock_lease")).Scan(&one))
	acquire(t, p.Backend, request("job"))
	err = p.InTx(t.Context(), tx, "job")
	require.ErrorContains(t, err, "READ COMMITTED")
	require.True(t, driver.IsPermanent(err))
	require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT 1").Scan(&one))
	require.NoError(t, tx.Rollback())
}

// After a transaction has locked a new name, no savepoint of InTx is left in it.
func TestPostgresInTxLeavesNoSavepoint(t *testing.T) {
	p := newPostgresTest(t)
	tx := p.begin(t)
	require.NoError(t, p.InTx(t.Context(), tx, "never seen"))
	_, err := tx.ExecContext(t.Context(), "RELEASE SAVEPOINT rowlock_in_tx")
	require.ErrorContains(t, err, "does not exist")
}

// If the waiter's row cannot be written before the context ends, Notify returns an error.
func TestPostgresNotifyEndsWithItsContext(t *testing.T) {
	p := newPostgresTest(t)
	table := p.int(t, "SELECT 'rowlock_lease_waiter'::regclass::oid::bigint")
	tx := p.begin(t)
	_, err := tx.ExecContext(t.Context(), p.sql("LOCK TABLE rowlock_lease_waiter IN ACCESS EXCLUSIVE MODE"))
	require.NoError(t, err)
	first := make(chan error, 1)
	go func() {
		stop, err := p.Notify(t.Context(), request("job").Key, func() {})
		if err == nil {
			stop()
		}
		first <- err
	}()
	until(t, "the first waits for the table", func() bool {
		return p.int(t, fmt.Sprint("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = ", table)) > 0
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = p.Notify(ctx, request("job").Key, func() {})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, tx.Rollback())
	require.NoError(t, <-first)
}
