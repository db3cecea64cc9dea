package migrations_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/memlock"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// fleetVariable is an environment variable. If it is set, this test binary runs the user's migrations and exits.
// The value contains the kind of lock, the dialect, the driver and the DSN.
const fleetVariable = "ROWLOCK_TEST_FLEET"

// Twenty processes start at the same time, and run a user's own goose migrations. Each migration runs once, and all
// processes succeed. On MySQL and MariaDB the test first creates goose's version table.
func TestAFleetMigratesOnce(t *testing.T) {
	require.Empty(t, os.Getenv(fleetVariable), "TestMain must have made this a process of a fleet: it would start another one")
	eachDatabase(t, func(t *testing.T, on target) {
		kinds, dsn := []string{"session", "lease"}, on.dsn
		if on.dialect == migrations.SQLite {
			kinds = []string{"lease"}
			dsn += map[bool]string{true: "&", false: "?"}[strings.Contains(dsn, "?")] + "_pragma=busy_timeout(20000)"
		}
		require.NoError(t, migrations.Up(t.Context(), on.db, on.dialect))
		for _, kind := range kinds {
			if on.dialect == migrations.MySQL { // goose creates its version table before it locks: see SessionLocker
				p, err := goose.NewProvider(goose.DialectMySQL, on.db, os.DirFS("testdata/fleet"))
				require.NoError(t, err)
				_, err = p.HasPending(t.Context())
				require.NoError(t, err)
			}
			fleet := make([]*exec.Cmd, 20)
			output := make([]bytes.Buffer, len(fleet))
			for i := range fleet {
				fleet[i] = exec.CommandContext(t.Context(), os.Args[0])
				fleet[i].Env = append(os.Environ(), fleetVariable+"="+strings.Join([]string{kind, on.dialect.String(), on.driver, dsn}, " "))
				fleet[i].Stdout, fleet[i].Stderr = &output[i], &output[i]
				require.NoError(t, fleet[i].Start())
			}
			for i, process := range fleet {
				assert.NoError(t, process.Wait(), "%s: %s", kind, output[i].String())
			}
			assert.Equal(t, 1, on.count(t, "SELECT count(*) FROM visits"), kind)
			for _, statement := range []string{"DROP TABLE visits", "DROP TABLE goose_db_version"} {
				_, err := on.db.ExecContext(t.Context(), statement)
				require.NoError(t, err)
			}
		}
	})
}

// migrateInFleet runs the user's migrations, as a user's program does when it starts.
func migrateInFleet(job []string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var d migrations.Dialect
	if err := d.UnmarshalText([]byte(job[1])); err != nil {
		return err
	}
	db, err := sql.Open(job[2], job[3])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	option := goose.WithSessionLocker(migrations.SessionLocker(d, "app"))
	if job[0] == "lease" {
		locker, err := rowlock.New(map[migrations.Dialect]func(*sql.DB, ...sqllock.Option) *sqllock.Backend{
			migrations.Postgres: sqllock.Postgres, migrations.MySQL: sqllock.MySQL, migrations.SQLite: sqllock.SQLite,
		}[d](db))
		if err != nil {
			return err
		}
		defer locker.Close() //nolint:errcheck // Unlock has released
		option = goose.WithLocker(migrations.Locker(locker, "app migrations"))
	}
	dialect := map[migrations.Dialect]goose.Dialect{
		migrations.Postgres: goose.DialectPostgres, migrations.MySQL: goose.DialectMySQL, migrations.SQLite: goose.DialectSQLite3,
	}[d]
	p, err := goose.NewProvider(dialect, db, os.DirFS("testdata/fleet"), option)
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// A session locker waits until the session that has the lock releases the lock. Session lockers with different names
// use different locks. Unlocking a session that does not have the lock returns an error and closes the session.
func TestSessionLockerTakesTurns(t *testing.T) {
	eachDatabase(t, func(t *testing.T, on target) {
		ctx := t.Context()
		if on.dialect == migrations.SQLite {
			conn, err := on.db.Conn(ctx)
			require.NoError(t, err)
			defer conn.Close()
			require.ErrorIs(t, migrations.SessionLocker(on.dialect, "a").SessionLock(ctx, conn), lock.ErrLockNotImplemented)
			return
		}
		conns := make([]*sql.Conn, 3)
		for i := range conns {
			conn, err := on.db.Conn(ctx)
			require.NoError(t, err)
			defer conn.Close()
			conns[i] = conn
		}
		a, b := migrations.SessionLocker(on.dialect, "a"), migrations.SessionLocker(on.dialect, "b")
		require.NoError(t, a.SessionLock(ctx, conns[0]))
		require.NoError(t, b.SessionLock(ctx, conns[1]), "another folder")
		brief, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, a.SessionLock(brief, conns[1]), context.DeadlineExceeded)
		waits := make(chan error, 1)
		go func() { waits <- a.SessionLock(ctx, conns[2]) }()
		require.NoError(t, a.SessionUnlock(ctx, conns[0]))
		require.NoError(t, <-waits)
		require.ErrorContains(t, a.SessionUnlock(ctx, conns[0]), "did not have the lock")
		require.ErrorIs(t, conns[0].PingContext(ctx), sql.ErrConnDone, "thrown away")
		require.NoError(t, a.SessionUnlock(ctx, conns[2]))
	})
}

// Locker serialises migrations with a lock of any backend. If the lease was lost during the migration,
// Unlock returns an error. Unlock also fails in a process that does not have the lock.
func TestLockerOverABackend(t *testing.T) {
	store := memlock.New()
	locker, err := rowlock.New(store)
	require.NoError(t, err)
	defer locker.Close()
	l := migrations.Locker(locker, "app", rowlock.Wait(10*time.Millisecond))
	require.ErrorContains(t, l.Unlock(t.Context(), nil), "not locked")
	require.NoError(t, l.Lock(t.Context(), nil))
	require.ErrorIs(t, migrations.Locker(locker, "app", rowlock.Wait(10*time.Millisecond)).Lock(t.Context(), nil), rowlock.ErrHeld)
	require.NoError(t, l.Unlock(t.Context(), nil))
	require.NoError(t, l.Lock(t.Context(), nil))
	list, err := store.List(t.Context(), "", true)
	require.NoError(t, err)
	require.NoError(t, store.ForceRelease(t.Context(), list[0].Key, list[0].Token, true))
	require.ErrorIs(t, l.Unlock(t.Context(), nil), rowlock.ErrLost)
	require.ErrorContains(t, migrations.Locker(nil, "app").Lock(t.Context(), nil), "nil")
}

func runFleetProcess() {
	if job := os.Getenv(fleetVariable); job != "" {
		if err := migrateInFleet(strings.SplitN(job, " ", 4)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}
