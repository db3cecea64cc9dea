package sqlite

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock/internal/sqltable"
)

// A write fails before it changes anything if the durability of its connection can be neither read nor changed.
func TestDurabilityThatCannotBeChanged(t *testing.T) {
	db, err := sql.Open("sqlite", "file::memory:")
	require.NoError(t, err)
	defer db.Close()
	table, err := sqltable.Parse(sqltable.Default)
	require.NoError(t, err)
	f := newFile(db, table)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "BEGIN")
	require.NoError(t, err)
	_, err = f.relax(t.Context(), conn)
	assert.ErrorContains(t, err, "inside a transaction")
	_, err = conn.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	_, err = f.relax(t.Context(), conn)
	assert.ErrorIs(t, err, sql.ErrConnDone)
}
