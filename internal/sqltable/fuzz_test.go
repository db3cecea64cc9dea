package sqltable_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/internal/sqltable"
)

// No table name that Parse accepts contains a quote that would end the quoted name in a statement.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"rowlock_lease", "ops.jobs", `a"b`, "a`; DROP TABLE x", "a.b.c", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		table, err := sqltable.Parse(s)
		if err != nil {
			return
		}
		assert.Equal(t, s, table.String())
		assert.NotContains(t, strings.Trim(table.Name()+table.Schema(), "_"), `"`)
		assert.Equal(t, 2+2*strings.Count(s, "."), strings.Count(table.Lease(`"`), `"`))
	})
}
