package sqltable_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/sqltable"
)

// A name that is not a plain identifier is rejected, and the error names the field.
func TestParseRowNamesTheFieldThatIsWrong(t *testing.T) {
	for _, bad := range []string{"", ".", "a.", ".a", "a.b.c", "1a", "a-b", `a"b`, "a`b", "a, b", "a;drop", "a\x00", "ä", strings.Repeat("x", 65)} {
		_, err := sqltable.ParseRow(bad, "id", "token")
		require.ErrorContains(t, err, "Row.Table", "%q", bad)
		_, err = sqltable.ParseRow("orders", bad, "token")
		require.ErrorContains(t, err, "Row.Key", "%q", bad)
		_, err = sqltable.ParseRow("orders", "id", bad)
		require.ErrorContains(t, err, "Row.Token", "%q", bad)
	}
	_, err := sqltable.ParseRow("orders", "o.id", "token")
	require.ErrorContains(t, err, "Row.Key", "a column is not qualified")
}

func TestRowRewrite(t *testing.T) {
	row, err := sqltable.ParseRow("Shop.orders", "ID", "lock_token")
	require.NoError(t, err)
	got := row.Rewrite("SELECT r.guarded_token FROM guarded_row AS r WHERE r.guarded_key = ?", "`")
	assert.Equal(t, "SELECT r.`lock_token` FROM `Shop`.`orders` AS r WHERE r.`ID` = ?", got)
}
