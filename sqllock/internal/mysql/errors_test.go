package mysql

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// Promise 6: what a proxy says of a server that it has lost, or of itself, does not say what became of the statement. The errors come
// from a trigger here: 2013 is what ProxySQL passes on when the server dies behind a statement, 2003 what MaxScale says then, and 9001
// what ProxySQL says when it finds no other server to ask.
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
