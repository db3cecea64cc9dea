package sqllock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// The error of a failed renewal names no lease of its batch, because the same error is reported for each of these
// leases.
func TestARenewalThatFailsNamesNoOtherLease(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		one, other := acquire(t, b, request("one")), acquire(t, b, request("other"))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := b.Renew(ended, []driver.Grant{one})
		require.ErrorContains(t, err, `renew "one": `)
		_, err = b.Renew(ended, []driver.Grant{one, other})
		require.ErrorContains(t, err, "renew 2 leases: ")
	})
}

// Each grant of a batch has an outcome, at the same index. A grant is renewed only if its lease has not expired on
// the store's clock, and its name, nonce and token match.
func TestABatchHasAnOutcomeForEachGrant(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		expired := acquire(t, b, request("expired"))
		s.grow(t, time.Minute)
		alive, other := acquire(t, b, request("alive")), acquire(t, b, request("b"))
		released := acquire(t, b, request("released"))
		require.NoError(t, b.Release(t.Context(), released))
		wrongToken, wrongNonce, wrongName, wrongNamespace, unseen := alive, alive, alive, alive, alive
		wrongToken.Token++
		wrongNonce.Nonce = driver.NewNonce()
		wrongName.Key.Name = "b"
		wrongNamespace.Key.Namespace = "ns"
		unseen.Key.Name = "unseen"
		batch := []driver.Grant{expired, alive, wrongToken, wrongNonce, wrongName, wrongNamespace, released, unseen, other}
		got := renew(t, b, batch...)
		assert.Equal(t, []driver.Outcome{
			driver.Lost, driver.Renewed, driver.Lost, driver.Lost, driver.Lost, driver.Lost, driver.Lost, driver.Lost, driver.Renewed,
		}, got)
		assert.Equal(t, driver.StateExpired, inspect(t, b, "expired").State, "not revived")
		assert.Zero(t, inspect(t, b, "unseen").Token, "not inserted")
		assert.Equal(t, driver.StateFree, inspect(t, b, "released").State)
	})
}

// After a renewal, the lease ends one full TTL later. The token, the time of the grant, the minimum hold and the
// hand-over delay do not change.
func TestARenewalExtendsAndChangesNothingElse(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		r := request("job")
		r.MinHold, r.HandoverDelay = 10*time.Minute, time.Minute
		g := acquire(t, b, r)
		s.grow(t, 20*time.Second)
		require.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, b, g))
		st := inspect(t, b, "job")
		assert.Equal(t, g.Token, st.Token)
		assert.Equal(t, r.Note, st.Note)
		near(t, 20*time.Second, st.Age, "age")
		near(t, 30*time.Second, st.ExpiresIn, "a full TTL")
		near(t, 9*time.Minute+40*time.Second, st.FreeIn, "minimum hold")
		for range 40 {
			s.grow(t, 15*time.Second)
			require.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, b, g))
		}
		near(t, 90*time.Second, inspect(t, b, "job").FreeIn, "TTL and hand-over delay, once the minimum hold is over")
	})
}

// A thousand grants are renewed in one statement.
func TestAThousandGrantsAreRenewedTogether(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		batch := make([]driver.Grant, 1000)
		want := make([]driver.Outcome, len(batch))
		for i := range batch {
			want[i] = driver.Lost
			batch[i] = driver.Grant{Key: driver.Key{Name: fmt.Sprintf("none %d", i)}, Nonce: driver.NewNonce(), Token: 1, TTL: time.Minute}
			if i%50 == 7 {
				want[i] = driver.Renewed
				batch[i] = acquire(t, b, request(fmt.Sprintf("job %d", i)))
			}
		}
		s.grow(t, 10*time.Second)
		require.Equal(t, want, renew(t, b, batch...))
		near(t, 30*time.Second, inspect(t, b, "job 957").ExpiresIn, "the last of them")
		require.Empty(t, renew(t, b))
	})
}

// A renewal does not wait for a row that another transaction has locked. The outcome of that lease is unknown, not
// lost, and the other leases of the batch are renewed.
func TestALockedRowIsUnknownAndKeepsNobody(t *testing.T) {
	eachSetting(t, func(t *testing.T, s *store) {
		if s.oneFile {
			return // SQLite has no row locks
		}
		b := s.open()
		locked, other := acquire(t, b, request("locked")), acquire(t, b, request("other"))
		s.grow(t, 20*time.Second)
		tx := s.begin(t)
		var token int64
		require.NoError(t, tx.QueryRowContext(t.Context(), s.sql("SELECT token FROM rowlock_lease WHERE namespace = '' AND name = 'locked' FOR UPDATE")).Scan(&token))
		require.Equal(t, []driver.Outcome{driver.Unknown, driver.Renewed}, renew(t, b, locked, other))
		near(t, 10*time.Second, inspect(t, b, "locked").ExpiresIn, "left as it was")
		require.NoError(t, tx.Rollback())
		require.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed}, renew(t, b, locked, other))
	})
}

// If one grant is renewed twice at the same moment, both renewals succeed.
func TestRenewalsOfOneGrantDoNotCollide(t *testing.T) {
	eachSetting(t, func(t *testing.T, s *store) {
		g := acquire(t, s.open(), request("job"))
		var wg sync.WaitGroup
		for range 3 {
			b := s.open()
			wg.Go(func() {
				for range 20 {
					o, err := b.Renew(t.Context(), []driver.Grant{g})
					if assert.NoError(t, err) {
						assert.NotEqual(t, driver.Lost, o[0])
					}
				}
			})
		}
		wg.Wait()
		near(t, 30*time.Second, inspect(t, s.open(), "job").ExpiresIn, "a full TTL")
	})
}
