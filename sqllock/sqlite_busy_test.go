package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock"
)

// Promise 5 of docs/guarantees.md: a request that is refused because the file is busy leaves no grant. With a rollback
// journal, a writer cannot commit while another connection reads. So the commit fails, the statement is rolled back,
// and the request is refused after 250 ms.
func TestSQLiteABusyFileLeavesNoGrant(t *testing.T) {
	for name, domain := range map[string]string{"plain": "", "sealing": domain} {
		t.Run(name, func(t *testing.T) {
			s := sqliteTestWith(t, "DELETE")
			// While a writer waits for its commit, it lets no new reader in. So the test's own reads may wait for long.
			patient := fileOf(t, s) + "?_pragma=busy_timeout(60000)"
			look := openSQLite(t, patient)
			var contended, granted atomic.Int64
			done := make(chan struct{})
			var all sync.WaitGroup
			for range 2 { // readers use the file, with gaps, for longer than an acquire waits
				db := openSQLite(t, patient)
				all.Go(func() {
					for {
						select {
						case <-done:
							return
						case <-time.After(20 * time.Millisecond):
						}
						tx, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
						if !assert.NoError(t, err) {
							return
						}
						var n int
						if assert.NoError(t, tx.QueryRowContext(t.Context(), "SELECT count(*) FROM rowlock_lease").Scan(&n)) {
							select {
							case <-done:
							case <-time.After(200 * time.Millisecond):
							}
						}
						assert.NoError(t, tx.Rollback())
					}
				})
			}
			var lockers sync.WaitGroup
			for l := range 2 {
				b := s.open()
				lockers.Go(func() {
					for i := 0; i < 400 && contended.Load() < 6; i++ {
						r := request(fmt.Sprintf("%d of %d", i%7, l%2))
						r.Seal = domain
						g, err := b.Acquire(t.Context(), r)
						var held *driver.Held
						switch {
						case err == nil:
							granted.Add(1)
							if err := b.Release(t.Context(), g); !assert.True(t, err == nil || driver.IsNotApplied(err), "%v", err) {
								return
							}
						case errors.As(err, &held):
							if held.Reason == driver.Contended {
								contended.Add(1)
							}
							var n int
							if !assert.NoError(t, look.QueryRowContext(t.Context(), "SELECT count(*) FROM rowlock_lease WHERE nonce = ?", r.Nonce.String()).Scan(&n)) ||
								!assert.Zero(t, n, "it was answered with %v, and has the lock", held) {
								return
							}
						case !driver.IsNotApplied(err):
							assert.NoError(t, err)
							return
						}
					}
				})
			}
			lockers.Wait()
			close(done)
			all.Wait()
			t.Log(contended.Load(), "contended", granted.Load(), "granted")
			require.Positive(t, contended.Load(), "the file was never busy for so long")
		})
	}
}

// Promise: while one call opens the file for the first time and is blocked, every other call still returns when its
// ctx ends.
func TestSQLiteAFirstCallKeepsNoOtherCallWaiting(t *testing.T) {
	s := sqliteTestWith(t, "DELETE")
	db := openSQLite(t, fileOf(t, s)+"?_pragma=busy_timeout(60000)")
	b := sqllock.SQLite(db)
	writer, err := s.raw.Conn(t.Context())
	require.NoError(t, err)
	defer writer.Close()
	_, err = writer.ExecContext(t.Context(), "BEGIN EXCLUSIVE")
	require.NoError(t, err)

	long, end := context.WithCancel(t.Context())
	var renewal sync.WaitGroup
	renewal.Go(func() {
		r := request("job")
		_, err := b.Renew(long, []driver.Grant{{Key: r.Key, Nonce: r.Nonce, Token: 1, TTL: r.TTL}})
		assert.Error(t, err)
	})
	require.Eventually(t, func() bool { return db.Stats().OpenConnections > 0 }, 10*time.Second, time.Millisecond, "the renewal looks")
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err = b.Acquire(short, request("another"))
	require.Error(t, err)
	assert.Less(t, time.Since(start), 5*time.Second)
	end()
	renewal.Wait()
	_, err = writer.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	acquire(t, b, request("job"))
}
