package sqllock_test

import (
	"database/sql"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/contest"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// contention is eight lockers that compete for one lock. Each locker has a separate pool, as if it were a separate
// process.
type contention struct {
	lockers []*rowlock.Locker
	sent    atomic.Int64 // the number of statements that all lockers sent
}

func contend(t *testing.T, dsn string) *contention {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	testschema.Install(t, db, migrations.MySQL)
	c := &contention{}
	for range 8 {
		l, err := rowlock.New(sqllock.MySQL(openCounted(t, dsn, &c.sent)))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, l.Close()) })
		c.lockers = append(c.lockers, l)
	}
	return c
}

func onMySQLAndMariaDB(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Helper()
	for name, dsn := range map[string]func(testing.TB) string{"mysql": testenv.MySQL, "mariadb": testenv.MariaDB} {
		t.Run(name, func(t *testing.T) { test(t, dsn(t)) })
	}
}

// Promise 9 of docs/guarantees.md: if eight processes acquire one lock repeatedly, no process starves. The process with
// the fewest grants gets at least half of its fair share.
func TestMySQLServesAllWhoWait(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, dsn string) {
		c := contend(t, dsn)
		r, _ := c.run(t, 1, 400)
		assert.GreaterOrEqual(t, r.Least(), 0.5)
	})
}

// Promise 9 of docs/guarantees.md: with a thousand waiters in eight processes, each hand-over costs two or three
// statements. If a hand-over takes longer, for example on an overloaded machine, one waiter of each process polls more
// often. The first process of the queue polls at most once in four milliseconds, the second process half as often, and
// so on. Each process gets at least half of its fair share.
func TestMySQLAThousandWaiters(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, dsn string) {
		c := contend(t, dsn)
		began := time.Now()
		r, spent := c.run(t, 125, 600)
		each := time.Since(began) / 600
		asked := 0.0
		for ahead := range len(c.lockers) {
			asked += float64(each) / float64(4*time.Millisecond) / float64(ahead+1)
		}
		assert.Less(t, spent, 3+asked, "of a thousand waiters eight ask, and one of them often: %s for each", each)
		assert.GreaterOrEqual(t, r.Least(), 0.5)
	})
}

// run starts the given number of callers for each locker. The callers compete for the lock until the given number of
// grants is reached. run also returns the mean number of statements for each hand-over.
func (c *contention) run(t *testing.T, callers, grants int) (contest.Result, float64) {
	t.Helper()
	before := c.sent.Load()
	r := contest.Run(t, c.lockers, callers, grants, 3*time.Minute)
	spent := float64(c.sent.Load()-before) / float64(r.All)
	t.Logf("%.1f statements for each, the least served has %.2f of its share", spent, r.Least())
	return r, spent
}
