package mysql

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// BenchmarkMySQLCycle measures acquire and release separately in three variants: bare updates, the backend's
// statements alone, and the backend. It also measures a reader, alone and beside 63 others, and the renewal of shares. The bare update of one row is measured with and without a deadline, because with
// a deadline the driver wakes a goroutine twice. On MySQL the backend's release has a deadline. All variants use one
// connection and alternate, so that a busy machine slows all of them equally. The reported figures are medians.
func BenchmarkMySQLCycle(b *testing.B) {
	for name, dsn := range map[string]func(testing.TB) string{"mysql": testenv.MySQL, "mariadb": testenv.MariaDB} {
		b.Run(name, func(b *testing.B) {
			ctx := context.Background()
			db, err := sql.Open("mysql", dsn(b))
			require.NoError(b, err)
			defer func() { _ = db.Close() }()
			db.SetMaxOpenConns(1)
			testschema.Install(b, db, migrations.MySQL)
			_, err = db.ExecContext(ctx, "CREATE TABLE bare (id INT PRIMARY KEY, n BIGINT NOT NULL)")
			require.NoError(b, err)
			_, err = db.ExecContext(ctx, "INSERT INTO bare VALUES (1, 0)")
			require.NoError(b, err)
			locks := on(db)
			server, err := locks.server(ctx)
			require.NoError(b, err)
			took := map[string][]time.Duration{}
			timed := func(what string, do func() error) {
				start := time.Now()
				err := do()
				took[what] = append(took[what], time.Since(start))
				require.NoError(b, err, what)
			}
			exec := func(ctx context.Context, text string, args ...any) (sqlbase.Result, error) {
				done, err := server.q.Exec(ctx, text, args...)
				if err == nil && done.Affected == 0 {
					err = errors.New("nothing was changed")
				}
				return done, err
			}
			update := func(ctx context.Context) error {
				_, err := exec(ctx, "UPDATE bare SET n = n + 1 WHERE id = ?", 1)
				return err
			}
			var g driver.Grant
			acquires := []func(){
				func() {
					timed("acquire", func() (err error) { g, err = locks.Acquire(ctx, request("job")); return err })
				},
				func() {
					r := request("job")
					args := locks.acquireArgs(server, r, locks.meta.Load().metaRow)
					timed("acquire-statement", func() error {
						done, err := exec(ctx, server.sql["acquire"], args...)
						g = driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: driver.Token(done.LastID), TTL: r.TTL}
						return err
					})
				},
			}
			releases := []func(){
				func() { timed("release", func() error { return locks.Release(ctx, g) }) },
				func() {
					args := releaseArgs(server, g)
					timed("release-statement", func() error { _, err := exec(ctx, server.sql["release"], args...); return err })
				},
			}
			acquires[0]() // inserts the row, and makes the backend detect the server
			releases[0]()
			read := func(name string) {
				var g driver.Grant
				timed("share"+name, func() (err error) { g, err = locks.Acquire(ctx, reading("shared"+name)); return err })
				timed("end-share"+name, func() error { return locks.Release(ctx, g) })
			}
			var shares []driver.Grant
			for range 63 {
				shares = append(shares, mustAcquire(b, locks, reading("shared-beside-63")))
			}
			read("")
			for b.Loop() {
				read("-beside-63")
				timed("renew-63-shares", func() error { _, err := locks.Renew(ctx, shares); return err })
				timed("renew-share-beside-62", func() error { _, err := locks.Renew(ctx, shares[:1]); return err })
				for _, i := range rand.Perm(5) {
					if i == 4 {
						read("")
						continue
					}
					acquires[i&1]()
					releases[i>>1]()
				}
				timed("update", func() error { return update(ctx) })
				timed("bounded-update", func() error {
					ctx, cancel := context.WithTimeout(ctx, time.Minute)
					defer cancel()
					return update(ctx)
				})
			}
			for what, d := range took {
				slices.Sort(d)
				b.ReportMetric(float64(d[len(d)/2].Nanoseconds())/1e3, what+"-us")
			}
		})
	}
}
