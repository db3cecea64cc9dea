package mysql

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
)

// Calls that time out leave no session on the server for long, however many calls there are, and even while the rows
// and tables that they need stay locked. While a session waits, MySQL does not detect that the client has closed the
// connection. By default it would keep a session that waits for a row for 50 s, and a session that waits for a table
// for a year.
func TestMySQLCallsThatTimeOutLeaveNoSessions(t *testing.T) {
	for what, lock := range map[string][2]string{
		"tables": {"LOCK TABLES rowlock_lease WRITE, rowlock_lease_meta WRITE", "UNLOCK TABLES"},
		"meta":   {"BEGIN; SELECT * FROM rowlock_lease_meta FOR UPDATE", "ROLLBACK"},
		"rows":   {"BEGIN; SELECT * FROM rowlock_lease FOR UPDATE", "ROLLBACK"},
	} {
		t.Run(what, func(t *testing.T) {
			onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
				schema := f.string(t, "SELECT DATABASE()")
				db := f.open(t, nil)
				const room = 5
				db.SetMaxOpenConns(room)
				b := on(db)
				defer func() { b.CloseIdle(limited(t)) }() // closes the reserve, which renewals and releases use while the pool is full
				held := mustAcquire(t, b, request("held of "+what))
				blocker, err := f.open(t, nil).Conn(limited(t))
				require.NoError(t, err)
				defer blocker.Close()
				for statement := range strings.SplitSeq(lock[0], "; ") {
					_, err = blocker.ExecContext(limited(t), statement)
					require.NoError(t, err)
				}
				var calls sync.WaitGroup
				for i := range 4 * room {
					calls.Go(func() {
						ctx, cancel := contextFor(300 * time.Millisecond)
						defer cancel()
						switch i % 4 {
						case 0:
							_ = b.Release(ctx, held)
						case 1:
							_, _ = b.Renew(ctx, []driver.Grant{held})
						case 2:
							_, _ = b.List(ctx, "", true)
						default:
							r := request(fmt.Sprintf("new %d of %s", i, what))
							r.TTL = time.Duration(i+1) * time.Hour // longer than longest_ttl_us, so the call must first raise longest_ttl_us in the meta row
							_, _ = b.Acquire(ctx, r)
						}
					})
				}
				calls.Wait()
				for i := range 2 * room {
					ctx, cancel := contextFor(300 * time.Millisecond)
					_, _ = b.Acquire(ctx, request(fmt.Sprintf("newer %d of %s", i, what)))
					cancel()
				}
				limit := 0
				if !f.mariadb && what != "tables" {
					limit = room // sessions that waited before the first time-out do not have the short limit yet
				}
				waiting := func() int { return testenv.Working(t, f.db, schema) }
				assert.Eventually(t, func() bool { return waiting() <= limit }, 20*time.Second, 100*time.Millisecond, "%s: sessions still wait", what)
				_, err = blocker.ExecContext(limited(t), lock[1])
				require.NoError(t, err)
				// the sessions that still waited get their rows now, and would refuse the next acquire as contended
				assert.Eventually(t, func() bool { return waiting() == 0 }, 20*time.Second, 10*time.Millisecond, "%s: sessions still run", what)
				if err := b.Release(limited(t), held); !errors.Is(err, driver.ErrNotHeld) {
					require.NoError(t, err)
				}
			})
		})
	}
}

// If a statement shortens the lock time-out of a session, the session returns to the pool with the previous time-out.
func TestMySQLAStatementThatWaitsBrieflyLeavesTheSessionAsItWas(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		if f.mariadb {
			return // on MariaDB each statement sets its own lock time-out
		}
		db := f.open(t, map[string]string{"innodb_lock_wait_timeout": "37"})
		db.SetMaxOpenConns(1)
		b := on(db)
		s, err := b.server(limited(t))
		require.NoError(t, err)
		s.timedOut.Store(time.Now().UnixNano())
		mustAcquire(t, b, request("a"))
		var limit, kept int
		require.NoError(t, db.QueryRowContext(limited(t), "SELECT @@SESSION.innodb_lock_wait_timeout, @rowlock_lock_wait").Scan(&limit, &kept))
		assert.Equal(t, 37, limit)
		assert.Equal(t, 37, kept, "the first grant of a name did set it")
	})
}
