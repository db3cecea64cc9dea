package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/driver"
)

const (
	passedTable = "CREATE TABLE IF NOT EXISTS bench_passed (name text PRIMARY KEY, holder text, waiting text[] NOT NULL)"

	takeRow = `INSERT INTO bench_passed AS b VALUES ($1, $2, '{}')
    ON CONFLICT (name) DO UPDATE
   SET holder = coalesce(b.holder, $2), waiting = CASE WHEN b.holder IS NULL THEN b.waiting ELSE b.waiting || $2::text END
RETURNING holder = $2`

	passRow = `WITH passed AS (
    UPDATE bench_passed SET holder = waiting[1], waiting = waiting[2:] WHERE name = $1 AND holder = $2 RETURNING holder)
SELECT pg_notify(holder, '') FROM passed WHERE holder IS NOT NULL`
)

// passedByNotify is the minimum work to hand over a lock in a row with NOTIFY: one update,
// which takes the next process from a queue in the same row and notifies it. The lock has no expiry and no token,
// and does not handle dead processes. PostgreSQL signals every session that listens:
// https://www.postgresql.org/docs/current/sql-notify.html
func passedByNotify() lock {
	return lock{name: "a row handed over by NOTIFY, pgx", kind: report.Floor, only: true, most: 16,
		open: func(ctx context.Context, at []string, t task) (*party, error) {
			var conns []*pgx.Conn
			leave := func() {
				for _, c := range conns {
					_ = c.Close(context.WithoutCancel(ctx))
				}
			}
			connect := func() (*pgx.Conn, error) {
				c, err := pgx.Connect(ctx, at[0])
				if err == nil {
					conns = append(conns, c)
				}
				return c, err
			}
			return gather(t.Members, leave, func() (acquirer, error) {
				me := "bench_" + driver.NewNonce().String()
				ear, err := connect()
				if err != nil {
					return nil, err
				}
				conn, err := connect()
				if err != nil {
					return nil, err
				}
				if _, err := ear.Exec(ctx, `LISTEN "`+me+`"`); err != nil {
					return nil, err
				}
				release := func(ctx context.Context) error {
					_, err := conn.Exec(ctx, passRow, t.Name, me)
					return err
				}
				return func(ctx context.Context) (held, error) {
					mine := false
					if err := conn.QueryRow(ctx, takeRow, t.Name, me).Scan(&mine); err != nil {
						return held{}, err
					}
					if !mine {
						limited, cancel := context.WithTimeout(ctx, time.Minute)
						defer cancel()
						if _, err := ear.WaitForNotification(limited); err != nil {
							return held{}, err
						}
					}
					return held{release: release}, nil
				}, nil
			})
		}}
}
