package mysql

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// Promise 11 of docs/guarantees.md: ten statements renew ten thousand leases. The session's counter shows how many
// statements ran.
func TestMySQLRenewsTenThousandWithTenStatements(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		const leases = 10_000
		f.fill(t, leases)
		nonce, err := driver.ParseNonce("00000000-0000-4000-8000-000000000000")
		require.NoError(t, err)
		grants := make([]driver.Grant, leases)
		for i := range grants {
			key := driver.Key{Namespace: "full", Name: fmt.Sprintf("%08X", i+1)}
			grants[i] = driver.Grant{Key: key, Nonce: nonce, Token: 1, TTL: 2 * time.Hour}
		}
		db := f.open(t, nil)
		db.SetMaxOpenConns(1)
		b := on(db)
		_, err = b.Renew(limited(t), grants[:1]) // this call detects the server and prepares the statement, which must not be counted
		require.NoError(t, err)
		before, began := executed(t, db), time.Now()
		outcomes, err := b.Renew(limited(t), grants)
		require.NoError(t, err)
		t.Log("took", time.Since(began))
		assert.Equal(t, 10, executed(t, db)-before)
		for _, outcome := range outcomes {
			require.Equal(t, driver.Renewed, outcome)
		}
		assert.EqualValues(t, leases, f.int(t, "SELECT COUNT(*) FROM rowlock_lease WHERE expires_at > UTC_TIMESTAMP(6) + INTERVAL 90 MINUTE"))
	})
}
