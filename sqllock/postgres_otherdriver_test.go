package sqllock_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/otherdriver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// With a driver that ignores contexts, the end of a context during a call is never mistaken for a result without a
// row. The connection is returned to the pool.
func TestPostgresAContextThatEndsIsNoAnswer(t *testing.T) {
	t.Parallel()
	contextsEnd(t, 100)
}

// The same with more moments. Nearly each call opens a session, because the driver closes a connection whose context has
// ended.
func TestCompatPostgresAContextThatEndsIsNoAnswer(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	contextsEnd(t, 1000)
}

// contextsEnd ends the contexts of calls at this number of moments, within four milliseconds after the start of a call.
func contextsEnd(t *testing.T, moments int) {
	t.Helper()
	dsn := testenv.Postgres(t)
	testschema.Install(t, openDB(t, dsn), migrations.Postgres)
	db, err := sql.Open(otherdriver.Name, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	db.SetMaxIdleConns(100) // more than calls run at the same time
	b := sqllock.Postgres(db)
	for i := range moments {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*4*time.Millisecond/time.Duration(moments))
		_, err := b.Acquire(ctx, request(fmt.Sprint("job", i)))
		cancel()
		if err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.False(t, driver.IsPermanent(err), "%v", err)
		}
	}
	until(t, "every connection is given back", func() bool { return db.Stats().InUse == 0 })
}
