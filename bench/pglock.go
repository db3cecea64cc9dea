package main

import (
	"context"
	"database/sql"
	"time"

	"cirello.io/pglock"
	gopglock "github.com/allisson/go-pglock/v3"
	_ "github.com/lib/pq"

	"github.com/rowlock/rowlock/bench/report"
)

// pglockLease is the duration of pglock's leases, and so the interval at which its waiters poll. pglock's default is 20 s.
const pglockLease = time.Second

// pglockPeer is cirello.io/pglock, with the database driver for which it was written.
func pglockPeer() lock {
	return lock{name: "pglock, every second", kind: report.Peer, floor: twoUpdatesSQL, keeps: true,
		open: func(ctx context.Context, at []string, t task) (*party, error) {
			db, err := sql.Open("postgres", at[0])
			if err != nil {
				return nil, err
			}
			db.SetMaxOpenConns(peerConnections)
			client, err := newPglock(db)
			if err != nil {
				return nil, err // after an error, the library has already closed db
			}
			return gather(t.Members, func() { _ = db.Close() }, func() (acquirer, error) {
				return func(ctx context.Context) (held, error) {
					lock, err := client.AcquireContext(ctx, t.Name)
					if err != nil {
						return held{}, err
					}
					return held{release: func(context.Context) error { return lock.Close() }}, nil
				}, nil
			})
		}}
}

func newPglock(db *sql.DB) (*pglock.Client, error) {
	return pglock.New(db, pglock.WithLeaseDuration(pglockLease), pglock.WithHeartbeatFrequency(pglockLease/5))
}

func preparePglock(at []string) error {
	db, err := sql.Open("postgres", at[0])
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	client, err := newPglock(db)
	if err != nil {
		return err
	}
	return client.TryCreateTable()
}

// goPglockPeer is allisson/go-pglock. Its waiters wait in the server's queue, each on its own connection.
func goPglockPeer() lock {
	return lock{name: "go-pglock, waits in the server", kind: report.Peer, floor: waitingAdvisory, most: 250,
		open: func(ctx context.Context, at []string, t task) (*party, error) {
			db, err := sql.Open("pgx", at[0])
			if err != nil {
				return nil, err
			}
			return gather(t.Members, func() { _ = db.Close() }, func() (acquirer, error) {
				lock, err := gopglock.NewLock(ctx, number(t.Name), db)
				if err != nil {
					return nil, err
				}
				return func(ctx context.Context) (held, error) { return held{release: lock.Unlock}, lock.WaitAndLock(ctx) }, nil
			})
		}}
}
