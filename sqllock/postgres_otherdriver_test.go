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
	dsn := testenv.Postgres(t)
	testschema.Install(t, openDB(t, dsn), migrations.Postgres)
	db, err := sql.Open(otherdriver.Name, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	db.SetMaxIdleConns(100) // otherwise almost each call would open a new connection, because earlier calls still use theirs
	b := sqllock.Postgres(db)
	for i := range 400 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*10*time.Microsecond)
		_, err := b.Acquire(ctx, request(fmt.Sprint("job", i)))
		cancel()
		if err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.False(t, driver.IsPermanent(err), "%v", err)
		}
	}
	until(t, "every connection is given back", func() bool { return db.Stats().InUse == 0 })
}
