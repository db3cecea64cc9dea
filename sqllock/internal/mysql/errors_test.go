package mysql

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// Promise 6 of docs/guarantees.md: the outcome of a statement is unknown if a proxy reports that it has lost the
// server, or another error of its own. In this test a trigger produces these errors. ProxySQL returns 2013 when the
// server dies after a statement was sent, and MaxScale returns 2003. ProxySQL returns 9001 when it finds no other
// server.
func TestMySQLAProxysErrorLeavesTheOutcomeUnknown(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		g := mustAcquire(t, f, request("a"))
		for _, number := range []int{2003, 2006, 2013, 9001} {
			f.Exec(t, fmt.Sprintf("CREATE TRIGGER relayed BEFORE UPDATE ON rowlock_lease FOR EACH ROW SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = %d", number))
			_, renewal := f.Renew(limited(t), []driver.Grant{g})
			_, handOver := f.HandOver(limited(t), g, request("a"))
			for what, err := range map[string]error{"renew": renewal, "hand over": handOver, "release": f.Release(limited(t), g)} {
				require.Error(t, err, "%s %d", what, number)
				assert.False(t, driver.IsNotApplied(err), "%s: %v", what, err)
			}
			f.Exec(t, "DROP TRIGGER relayed")
		}
		require.NoError(t, f.Release(limited(t), g))
	})
}
