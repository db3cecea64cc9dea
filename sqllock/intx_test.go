package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// InTx holds the lock until the transaction commits or rolls back. Until then no lease of that name is granted, and
// requests are refused without delay, whether or not the lock had a row before.
func TestInTxHoldsTheLockUntilTheTransactionEnds(t *testing.T) {
	for how, end := range map[string]func(*sql.Tx) error{"commit": (*sql.Tx).Commit, "rollback": (*sql.Tx).Rollback} {
		for _, seen := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, seen %v", how, seen), func(t *testing.T) {
				eachBackend(t, func(t *testing.T, s *store) {
					b := s.open()
					if seen {
						require.NoError(t, b.Release(t.Context(), acquire(t, b, request("job"))))
					}
					tx := s.begin(t)
					require.NoError(t, b.InTx(t.Context(), tx, "job"))
					require.NoError(t, b.InTx(t.Context(), tx, "job"), "the transaction has it already")
					start := time.Now()
					h := refused(t, b, request("job"))
					assert.Equal(t, driver.Contended, h.Reason)
					assert.Less(t, time.Since(start), atOnce)
					if !s.oneFile {
						acquire(t, b, request("another job"))
					}
					require.NoError(t, end(tx))
					acquire(t, b, request("job"))
				})
			})
		}
	}
}

// While a lease is held, InTx is refused and does not lock the lease's row. So the lease can be renewed, and the
// transaction can continue.
func TestInTxLeavesALeaseAlone(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		r := request("job")
		r.MinHold = time.Hour
		g := acquire(t, b, r)
		tx := s.begin(t)
		h := held(t, b.InTx(t.Context(), tx, "job"))
		assert.Equal(t, driver.Leased, h.Reason)
		assert.Equal(t, r.Holder, h.Holder)
		assert.Equal(t, g.Token, h.Token)
		if s.oneFile {
			require.NoError(t, tx.Rollback()) // while this transaction is open, BEGIN IMMEDIATE delays all other writers
			tx = s.begin(t)
		} else {
			require.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, b, g))
			require.NoError(t, b.Release(t.Context(), g))
			assert.Equal(t, driver.MinHold, held(t, b.InTx(t.Context(), tx, "job")).Reason)
		}
		var one int
		require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT 1").Scan(&one), "the transaction goes on")
		require.NoError(t, b.InTx(t.Context(), tx, "another job"), "and can take another lock")
		require.NoError(t, tx.Commit())
	})
}

// While one transaction has the lock, InTx in a second transaction is refused at once. The second transaction can
// continue, and can wait with TxWait.
func TestInTxExcludesInTx(t *testing.T) {
	for _, name := range []string{"seen", "unseen"} {
		t.Run(name, func(t *testing.T) {
			eachBackend(t, func(t *testing.T, s *store) {
				if s.oneFile {
					return // on a single file, the second transaction could not begin
				}
				b := s.open()
				last := acquire(t, b, request("seen"))
				require.NoError(t, b.Release(t.Context(), last))
				first, second := s.begin(t), s.begin(t)
				var one int
				require.NoError(t, second.QueryRowContext(t.Context(), "SELECT 1").Scan(&one))
				require.NoError(t, b.InTx(t.Context(), first, name))
				start := time.Now()
				err := b.InTx(t.Context(), second, name)
				assert.Equal(t, driver.Contended, held(t, err).Reason)
				refusal := fmt.Sprintf("sqllock: lock %q in the transaction: locked by another transaction", name)
				if name == "seen" {
					refusal += fmt.Sprintf(": last holder %q, token %d", request("seen").Holder, last.Token)
				}
				assert.EqualError(t, err, refusal)
				assert.Less(t, time.Since(start), atOnce)
				require.NoError(t, second.QueryRowContext(t.Context(), "SELECT 1").Scan(&one), "the transaction goes on")

				require.NoError(t, b.InTx(t.Context(), second, name, sqllock.TxNamespace("other")), "the name in another namespace")

				err = b.InTx(t.Context(), second, name, sqllock.TxWait(50*time.Millisecond))
				assert.True(t, isHeld(err, driver.Contended), "%v", err)

				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- b.InTx(ctx, second, name, sqllock.TxWait(time.Minute)) }()
				cancel()
				require.ErrorIs(t, <-done, context.Canceled)
			})
		})
	}
}

// InTx with TxWait acquires the lock soon after the other transaction has ended.
func TestInTxWaits(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		if s.oneFile {
			return // on a single file, the second transaction could not begin
		}
		b := s.open()
		require.NoError(t, b.Release(t.Context(), acquire(t, b, request("job"))))
		first, second := s.begin(t), s.begin(t)
		require.NoError(t, b.InTx(t.Context(), first, "job"))
		done := make(chan error)
		go func() { done <- b.InTx(t.Context(), second, "job", sqllock.TxWait(time.Minute)) }()
		require.NoError(t, first.Rollback())
		require.NoError(t, <-done)
		require.Equal(t, driver.Contended, refused(t, b, request("job")).Reason)
		require.NoError(t, second.Commit())
	})
}

// A transaction that has waited for the lock sees what the last holder has committed. On Postgres this needs READ
// COMMITTED: InTx refuses the levels at which the snapshot begins before the lock, and locks nothing.
func TestInTxSeesTheWritesOfTheLastHolder(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		if s.oneFile {
			return // on a single file, the second transaction could not begin
		}
		b := s.open()
		s.exec(t, "CREATE TABLE rowlock_lease_data (name varchar(40))")
		for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
			name := "job " + level.String()
			begin := func() *sql.Tx {
				tx, err := s.raw.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
				require.NoError(t, err)
				return tx
			}
			first, second := begin(), begin()
			if s.dialect == migrations.Postgres && level != sql.LevelReadCommitted {
				require.ErrorContains(t, b.InTx(t.Context(), first, name), "READ COMMITTED")
				require.NoError(t, second.Rollback())
				require.NoError(t, b.Release(t.Context(), acquire(t, b, request(name))))
				require.ErrorContains(t, b.InTx(t.Context(), first, name), "READ COMMITTED")
				require.NoError(t, b.Release(t.Context(), acquire(t, b, request(name))), "nothing is locked")
				require.NoError(t, first.Rollback())
				continue
			}
			require.NoError(t, b.InTx(t.Context(), first, name))
			done := make(chan error)
			refused := make(chan struct{})
			go func() {
				err := b.InTx(t.Context(), second, name) // an attempt before the first transaction commits
				close(refused)
				var held *driver.Held
				if errors.As(err, &held) {
					err = b.InTx(t.Context(), second, name, sqllock.TxWait(time.Minute))
				}
				done <- err
			}()
			<-refused
			_, err := first.ExecContext(t.Context(), s.sql("INSERT INTO rowlock_lease_data VALUES ('"+name+"')"))
			require.NoError(t, err)
			require.NoError(t, first.Commit())
			require.NoError(t, <-done)
			var n int
			require.NoError(t, second.QueryRowContext(t.Context(), s.sql("SELECT count(*) FROM rowlock_lease_data WHERE name = '"+name+"'")).Scan(&n))
			assert.Equal(t, 1, n, name)
			require.NoError(t, second.Commit())
		}
	})
}

// An invalid name is refused before any statement is sent.
func TestInTxRefusesBadNames(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		tx := s.begin(t)
		for _, bad := range []string{"", "a\x00b", "\xff", strings.Repeat("x", driver.MaxName+1)} {
			require.True(t, driver.IsPermanent(b.InTx(t.Context(), tx, bad)), "%q", bad)
		}
		long := sqllock.TxNamespace(strings.Repeat("x", driver.MaxNamespace+1))
		require.True(t, driver.IsPermanent(b.InTx(t.Context(), tx, "job", long)))
		require.True(t, driver.IsPermanent(b.InTx(t.Context(), nil, "job")))
		require.True(t, driver.IsPermanent(b.InTxPgx(t.Context(), nil, "job")))
		require.NoError(t, b.InTx(t.Context(), tx, strings.Repeat("x", driver.MaxName)))
	})
}

// In a transaction that has already ended, InTx returns an error that is not *driver.Held.
func TestInTxTellsABrokenTransactionFromAHeldLock(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		tx := s.begin(t)
		require.NoError(t, tx.Rollback())
		err := s.open().InTx(t.Context(), tx, "job", sqllock.TxWait(time.Minute))
		require.ErrorIs(t, err, sql.ErrTxDone)
		var h *driver.Held
		require.False(t, errors.As(err, &h))
	})
}
