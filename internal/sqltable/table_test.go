package sqltable_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/sqltable"
)

func TestParseRefusesWhatCannotBeQuotedPlainly(t *testing.T) {
	for _, bad := range []string{"", ".", "a.", ".a", "a.b.c", "1a", "a-b", `a"b`, "a`b", "a b", "a;drop", "a\x00", "ä", strings.Repeat("x", 51)} {
		_, err := sqltable.Parse(bad)
		require.Error(t, err, "%q", bad)
		assert.Contains(t, err.Error(), "table", "the message names the field")
	}
}

// A name for a lease table is rejected if it could be derived from the name of another lease table. A protected table
// of the user may have such a name.
func TestParseRefusesWhatIsDerivedFromAnotherName(t *testing.T) {
	for _, bad := range []string{"a_meta", "ops.a_meta", "A_META", "a_fence", "a_outcome", "a_version", "a_waiter", "a_counter", "a_mint", "a_run", "a_token", "a_fence_pass", "a_b_fence_check", "a_same_epoch"} {
		_, err := sqltable.Parse(bad)
		require.ErrorContains(t, err, "a name may not end in _", bad)
		_, err = sqltable.ParseProtected(bad)
		require.NoError(t, err, bad)
	}
	for _, good := range []string{"meta", "_meta", "a_metas", "run", "token", "ameta"} {
		_, err := sqltable.Parse(good)
		require.NoError(t, err, good)
	}
}

func TestRewriteTouchesTheTableNamesOnly(t *testing.T) {
	table, err := sqltable.Parse("Ops.jobs")
	require.NoError(t, err)
	got := table.Rewrite("SELECT token FROM rowlock_lease, rowlock_lease_meta, rowlock_lease_fence", `"`)
	assert.Equal(t, `SELECT token FROM "Ops"."jobs", "Ops"."jobs_meta", "Ops"."jobs_fence"`, got)
	for _, another := range []string{"my_rowlock_lease", "rowlock_leases", "rowlock_lease2", "rowlock_lease_", "rowlock_lease_2", "rowlock_lease_Meta", "rowlock_lease__meta", "rowlock_lease_meta_"} {
		assert.Equal(t, another+" "+another, table.Rewrite(another+" "+another, `"`))
	}
	assert.Equal(t, `ON("Ops"."jobs_outcome_by_age")`, table.Rewrite("ON(rowlock_lease_outcome_by_age)", `"`))
	assert.Equal(t, "idx.`Ops`.`jobs`, `Ops`.`jobs`", table.Rewrite("idx.rowlock_lease, rowlock_lease", "`"))
	got = table.RewriteProtected("DROP TRIGGER rowlock_protected_fence_insert ON rowlock_protected -- rowlock_lease", "`")
	assert.Equal(t, "DROP TRIGGER `Ops`.`jobs_fence_insert` ON `Ops`.`jobs` -- rowlock_lease", got)
	assert.Equal(t, "jobs_fence", table.Fence())
	assert.Equal(t, "jobs_outcome", table.Outcome())
	assert.Equal(t, "Ops.jobs", table.String())
}
