//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testserver"
)

// replicated is a primary and its standby, which clients reach at one address, like behind a proxy
// or a virtual IP address. The old primary is always dead before the standby replaces it.
// The torture does not test two primaries at the same time.
type replicated struct {
	start   func(ctx context.Context, primary string) (*testserver.Server, error) // starts a standby, or the first primary if the parameter primary is empty
	inStep  func(ctx context.Context, primary string) (bool, error)
	promote func(ctx context.Context, standby string) error

	front            *faultproxy.Proxy // clients connect to the primary through this proxy
	stream           *faultproxy.Proxy // the standby connects to the primary through this proxy
	primary, standby *testserver.Server
}

func (c *replicated) begin(ctx context.Context) (_ cluster, err error) {
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	if c.primary, err = c.start(ctx, ""); err != nil {
		return nil, err
	}
	if c.front, err = faultproxy.New(c.primary.Addr); err != nil {
		return nil, err
	}
	return c, c.attach(ctx)
}

// attach starts a standby for the primary, and returns when the standby has all writes of the primary.
func (c *replicated) attach(ctx context.Context) (err error) {
	if c.stream, err = faultproxy.New(c.primary.Addr); err != nil {
		return err
	}
	if c.standby, err = c.start(ctx, c.stream.Addr()); err != nil {
		return err
	}
	for {
		ok, err := c.inStep(ctx, c.primary.Addr)
		if ok {
			return nil
		}
		if wait(ctx, 20*time.Millisecond); ctx.Err() != nil {
			return errors.Join(errors.New("the standby does not catch up with the primary"), err, ctx.Err())
		}
	}
}

func (c *replicated) addrs() []string { return []string{c.front.Addr()} }

// hit kills the primary and promotes the standby. In a lossy failover, the standby has not received the last writes.
func (c *replicated) hit(ctx context.Context, s step) error {
	if s.Kind == lossy {
		c.stream.Cut()
		wait(ctx, s.For)
	}
	signalAll(c.primary, syscall.SIGKILL) // also kills the server's processes that serve clients
	c.primary.Kill()
	c.front.Reset()
	ctx, cancel := unhurried(ctx)
	defer cancel()
	if err := c.promote(ctx, c.standby.Addr); err != nil {
		return err
	}
	c.front.PointAt(c.standby.Addr)
	c.stream.Close()
	c.primary.Stop()
	c.primary, c.standby = c.standby, nil
	return c.attach(ctx)
}

func (c *replicated) stop() {
	for _, p := range []*faultproxy.Proxy{c.front, c.stream} {
		if p != nil {
			p.Close()
		}
	}
	for _, s := range []*testserver.Server{c.primary, c.standby} {
		if s != nil {
			s.Stop()
		}
	}
}

// postgresPair is Postgres with a standby. If synchronous is true, a commit waits for the standby, so a failover does
// not lose acknowledged commits.
func postgresPair(ctx context.Context, synchronous bool) (cluster, error) {
	var args []string
	if synchronous {
		args = []string{"-c", "synchronous_standby_names=*"}
	}
	return (&replicated{
		start: func(ctx context.Context, primary string) (*testserver.Server, error) {
			return testserver.Start(ctx, testserver.Postgres, testserver.Options{Primary: primary, Args: args})
		},
		inStep: func(ctx context.Context, primary string) (ok bool, err error) {
			err = askPostgres(ctx, primary, "SELECT count(*) > 0 FROM pg_stat_replication WHERE state = 'streaming'", &ok)
			return ok, err
		},
		promote: func(ctx context.Context, standby string) error {
			var done bool
			err := askPostgres(ctx, standby, "SELECT pg_promote()", &done)
			if err == nil && !done {
				err = errors.New("the standby was not promoted")
			}
			return err
		},
	}).begin(ctx)
}

func askPostgres(ctx context.Context, addr, query string, answer any) error {
	db, err := sql.Open("pgx", postgresDSN(addr))
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the handle is no longer needed
	return db.QueryRowContext(ctx, query).Scan(answer)
}

// redisPair is Redis with a replica. Redis does not wait for the replica.
func redisPair(ctx context.Context) (cluster, error) {
	return (&replicated{
		start: func(ctx context.Context, primary string) (*testserver.Server, error) {
			args := []string{"--repl-diskless-sync-delay", "0"}
			if host, port, err := net.SplitHostPort(primary); err == nil {
				args = append(args, "--replicaof", host, port)
			}
			return testserver.Start(ctx, testserver.Redis, testserver.Options{Args: args})
		},
		inStep: func(ctx context.Context, primary string) (bool, error) {
			c := connectRedis(primary)
			defer c.Close() //nolint:errcheck // the client is no longer needed
			text, err := c.Info(ctx, "replication").Result()
			return strings.Contains(text, "state=online"), err
		},
		promote: func(ctx context.Context, standby string) error {
			c := redis.NewClient(&redis.Options{Addr: standby})
			defer c.Close() //nolint:errcheck // the client is no longer needed
			return c.ReplicaOf(ctx, "NO", "ONE").Err()
		},
	}).begin(ctx)
}
