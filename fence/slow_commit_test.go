package fence_test

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/migrations"
)

// If ctx ends during a commit to a SQLite file, Tx waits for the commit. If Tx read the outcome row instead,
// it would still see the old state and report that nothing was committed.
func TestACommitToAFileIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, e := range enginesOf(t) {
		if e.dialect != migrations.SQLite {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { slowCommit(t, e) })
		})
	}
}

func slowCommit(t *testing.T, e engine) {
	t.Helper()
	s := e.fresh(t)
	lease := s.lease(t, "r")
	require.NoError(t, s.guard.Seal(t.Context(), lease))
	ctx, cancel := context.WithCancel(lease.Context())
	defer cancel()
	slow := sql.OpenDB(slowCommits{s.dsn, s.db.Driver(), cancel})
	defer slow.Close()
	runs := 0
	require.NoError(t, e.guard(slow).Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		runs++
		_, err := tx.ExecContext(ctx, "INSERT INTO elsewhere (n) VALUES (1)")
		return err
	}))
	assert.Equal(t, 1, runs)
	assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM elsewhere"))
}

// slowCommits connects to a database whose commits first call the function end and then take a minute.
type slowCommits struct {
	dsn    string
	driver sqldriver.Driver
	end    func()
}

func (s slowCommits) Driver() sqldriver.Driver { return s.driver }

func (s slowCommits) Connect(context.Context) (sqldriver.Conn, error) {
	c, err := s.driver.Open(s.dsn)
	if err != nil {
		return nil, err
	}
	return slowConn{c, c.(sqldriver.ConnBeginTx), c.(sqldriver.ExecerContext), c.(sqldriver.QueryerContext), s.end}, nil
}

type slowConn struct {
	sqldriver.Conn
	sqldriver.ConnBeginTx
	sqldriver.ExecerContext
	sqldriver.QueryerContext

	end func()
}

func (c slowConn) BeginTx(ctx context.Context, opts sqldriver.TxOptions) (sqldriver.Tx, error) {
	tx, err := c.ConnBeginTx.BeginTx(context.WithoutCancel(ctx), opts)
	return slowTx{tx, c.end}, err
}

type slowTx struct {
	sqldriver.Tx

	end func()
}

func (t slowTx) Commit() error {
	t.end()
	time.Sleep(time.Minute) // a caller that does not wait for the commit finds the old content of the database during this minute
	return t.Tx.Commit()
}
