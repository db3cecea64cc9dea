package main

import (
	"context"
	"database/sql"
	"time"

	"github.com/go-sql-driver/mysql"
	goose "github.com/pressly/goose/v3/lock"

	"github.com/rowlock/rowlock/bench/report"
)

const (
	gooseEvery = 100 * time.Millisecond // how often a waiter of the table locker polls; goose's default is 5 s
	forEver    = 1 << 30                // number of tries
)

var (
	newGoosePostgres = goose.NewPostgresTableLocker
	newGooseMySQL    = goose.NewMySQLTableLocker
)

// gooseTable is goose's lock that uses a table.
func gooseTable(driver string, locker func(...goose.TableLockerOption) (goose.Locker, error)) lock {
	return lock{name: "goose's table lock, every 100 ms", kind: report.Peer, floor: twoUpdatesSQL, keeps: true,
		open: func(_ context.Context, at []string, t task) (*party, error) {
			db, err := openGoose(driver, at)
			if err != nil {
				return nil, err
			}
			db.SetMaxOpenConns(peerConnections)
			options := []goose.TableLockerOption{goose.WithTableLockID(number(t.Name)), goose.WithTableLockTimeout(gooseEvery, forEver)}
			if t.TTL > 0 {
				options = append(options, goose.WithTableLeaseDuration(t.TTL), goose.WithTableHeartbeatInterval(t.TTL/3))
			}
			return gather(t.Members, func() { _ = db.Close() }, func() (acquirer, error) {
				l, err := locker(options...)
				if err != nil {
					return nil, err
				}
				release := func(ctx context.Context) error { return l.Unlock(ctx, db) }
				return func(ctx context.Context) (held, error) { return held{release: release}, l.Lock(ctx, db) }, nil
			})
		}}
}

// prepareGoose lets goose create its table before many members try at the same time.
func prepareGoose(ctx context.Context, driver string, at []string, locker func(...goose.TableLockerOption) (goose.Locker, error)) error {
	p, err := gooseTable(driver, locker).open(ctx, at, task{Name: "prepare", Members: 1})
	if err != nil {
		return err
	}
	defer p.close()
	h, err := p.members[0](ctx)
	if err != nil {
		return err
	}
	return h.release(ctx)
}

// openGoose sets the parameter with which MySQL's driver reads times. Without this parameter each of goose's tries fails.
func openGoose(driver string, at []string) (*sql.DB, error) {
	if driver != "mysql" {
		return sql.Open(driver, at[0])
	}
	config, err := mysql.ParseDSN(at[0])
	if err != nil {
		return nil, err
	}
	config.ParseTime = true
	return sql.Open(driver, config.FormatDSN())
}

// gooseSession is goose's advisory lock. Each waiter of this lock has its own connection and polls once a second.
func gooseSession() lock {
	return lock{name: "goose's session lock, every second", kind: report.Peer, floor: waitingAdvisory, most: 250,
		open: func(ctx context.Context, at []string, t task) (*party, error) {
			db, err := sql.Open("pgx", at[0])
			if err != nil {
				return nil, err
			}
			return gather(t.Members, func() { _ = db.Close() }, func() (acquirer, error) {
				l, err := goose.NewPostgresSessionLocker(goose.WithLockID(number(t.Name)), goose.WithLockTimeout(1, forEver))
				if err != nil {
					return nil, err
				}
				conn, err := db.Conn(ctx)
				if err != nil {
					return nil, err
				}
				release := func(ctx context.Context) error { return l.SessionUnlock(ctx, conn) }
				return func(ctx context.Context) (held, error) { return held{release: release}, l.SessionLock(ctx, conn) }, nil
			})
		}}
}
