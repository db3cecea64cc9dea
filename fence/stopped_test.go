package fence

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
)

// stopped is the context of a suspended process. It has a deadline, but does not end at that time.
type stopped struct {
	context.Context
	deadline time.Time
}

func (s stopped) Deadline() (time.Time, bool) { return s.deadline, true }

// If a process is suspended while its claim renews the lease, its successor waits only for as long as the lease was
// trusted. Then the server ends the session of the suspended process.
func TestTheServerEndsTheClaimOfAStoppedProcess(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) (*sql.DB, *Guard, migrations.Dialect){
		"postgres": func(t *testing.T) (*sql.DB, *Guard, migrations.Dialect) {
			db, err := sql.Open("pgx", testenv.Postgres(t))
			require.NoError(t, err)
			return db, Postgres(db), migrations.Postgres
		},
		"mysql": func(t *testing.T) (*sql.DB, *Guard, migrations.Dialect) {
			db, err := sql.Open("mysql", testenv.MySQL(t))
			require.NoError(t, err)
			return db, MySQL(db), migrations.MySQL
		},
		"mariadb": func(t *testing.T) (*sql.DB, *Guard, migrations.Dialect) {
			db, err := sql.Open("mysql", testenv.MariaDB(t))
			require.NoError(t, err)
			return db, MySQL(db), migrations.MySQL
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, guard, dialect := open(t)
			defer db.Close()
			require.NoError(t, migrations.Up(t.Context(), db, dialect))
			never := func(string) bool { return false }
			claimBy := func(prove func(context.Context) error) claim {
				return claim{resources: []string{"r"}, nonce: driver.NewNonce().String(), domain: "claim r", mint: &minting{prove, never}}
			}

			asking, resume, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			go func() {
				ctx := stopped{t.Context(), time.Now().Add(4 * time.Second)}
				done <- guard.dialect.seal(ctx, claimBy(func(context.Context) error { close(asking); <-resume; return nil }))
			}()
			<-asking
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			successor := claimBy(func(context.Context) error { return nil })
			err := guard.dialect.seal(ctx, successor)
			close(resume)
			require.NoError(t, err)
			require.Error(t, <-done, "its claim was rolled back")
			now, err := marksOf(guard).read(ctx, sqlQuerier{conn: db}, successor, "r")
			require.NoError(t, err)
			require.True(t, now.isOf(successor))
		})
	}
}

func marksOf(g *Guard) marks {
	switch d := g.dialect.(type) {
	case *postgres:
		return d.marks
	case *mysql:
		return d.marks
	default:
		return d.(*sqlite).marks
	}
}
