package mysql

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// One statement renews a thousand leases among a hundred thousand locks. It finds each row by the primary key, and
// locks no other row.
func TestMySQLRenewsAThousandByPrimaryKey(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		f.fill(t, 100_000)
		grants := make([]driver.Grant, 1000)
		for i := range grants {
			nonce, err := driver.ParseNonce("00000000-0000-4000-8000-000000000000")
			require.NoError(t, err)
			grants[i] = driver.Grant{
				Key:   driver.Key{Namespace: "full", Name: fmt.Sprintf("%08X", 100*i+1)},
				Nonce: nonce, Token: 1, TTL: 2 * time.Hour,
			}
		}
		f.assertNoScan(t, "renew", grants, 0)
		f.assertNoScan(t, "prune", grants, int64(0))
		s, err := f.Backend.server(limited(t))
		require.NoError(t, err)
		batch := sqlbase.EncodeGrants(encodedKeys(grants))
		assert.NotContains(t, f.plan(t, s.sql["renewed"], int64(0), batch), "SCAN l ")

		// Rows next to the renewed rows are locked. A statement that reads one of those rows for update would wait.
		f.whileLocked(t, "SELECT token FROM rowlock_lease WHERE namespace = 'full' AND name IN ('00000002', '00000064', '00000066', '000000C8') FOR UPDATE", func() {
			atOnce(t, func() {
				got, err := f.Renew(limited(t), grants)
				require.NoError(t, err)
				for i, outcome := range got {
					require.Equal(t, driver.Renewed, outcome, "grant %d", i)
				}
			})
		})
		assert.EqualValues(t, 1000, f.int(t, "SELECT COUNT(*) FROM rowlock_lease WHERE expires_at > UTC_TIMESTAMP(6) + INTERVAL 90 MINUTE"))
	})
}

// assertNoScan checks that a statement for a batch neither scans the table nor uses a hash join.
func (f *fixture) assertNoScan(t *testing.T, verb string, grants []driver.Grant, more ...any) {
	t.Helper()
	s, err := f.Backend.server(limited(t))
	require.NoError(t, err)
	batch := sqlbase.EncodeGrants(encodedKeys(grants))
	args := []any{batch}
	if verb == "prune" {
		args = append(args, more...)
	}
	plan := f.plan(t, s.sql[verb], args...)
	for _, alias := range []string{"l", "r"} {
		assert.Contains(t, plan, "SEEK "+alias+" ")
		assert.NotContains(t, plan, "SCAN "+alias+" ")
	}
}

// setStatement matches a prefix that MariaDB executes, and that EXPLAIN does not accept.
var setStatement = regexp.MustCompile(`^/\*M! SET STATEMENT .* FOR \*/`)

// plan lists how the statement reads each table, as "SCAN alias" or "SEEK alias".
func (f *fixture) plan(t *testing.T, statement string, args ...any) string {
	t.Helper()
	statement = setStatement.ReplaceAllString(statement, "")
	var document string
	require.NoError(t, f.db.QueryRowContext(limited(t), "EXPLAIN FORMAT=JSON "+statement, args...).Scan(&document))
	var tree any
	require.NoError(t, json.Unmarshal([]byte(document), &tree), document)
	var plan strings.Builder
	var walk func(node any)
	walk = func(node any) {
		switch n := node.(type) {
		case map[string]any:
			alias, access := n["alias"], n["index_access_type"] // MySQL reports both a look-up and a scan of an index as "index", so the access type is needed too
			if alias == nil {
				alias = n["table_name"]
			}
			if access == nil {
				access = n["access_type"]
			}
			if alias != nil && access != nil {
				word := "SEEK"
				if access == "ALL" || access == "index" || access == "table" || access == "index_scan" {
					word = "SCAN"
				}
				fmt.Fprintf(&plan, "%s %v (%v)\n", word, alias, access)
			}
			for _, child := range n {
				walk(child)
			}
		case []any:
			for _, child := range n {
				walk(child)
			}
		}
	}
	walk(tree)
	require.NotEmpty(t, plan.String(), document)
	return plan.String()
}
