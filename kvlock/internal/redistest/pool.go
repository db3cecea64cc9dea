package redistest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/internal/testserver"
)

// pool keeps the servers that no test uses at the moment. So a package starts only as many servers as its tests use at
// the same time.
var pool struct {
	sync.Mutex
	idle map[string][]*server // by engine
}

// server is a server of the pool.
type server struct {
	*testserver.Server

	began state // after the start
}

// state is what a test may have changed for the tests after it.
type state struct {
	config map[string]string
	users  []string
}

// Stopping runs the tests of a package, and then stops the servers of the pool.
type Stopping struct{ *testing.M }

// Run returns the exit code of the tests.
func (s Stopping) Run() int {
	defer func() {
		for _, all := range pool.idle {
			for _, s := range all {
				s.Stop()
			}
		}
	}()
	return s.M.Run()
}

// Borrow returns an empty server that only the caller uses, until it calls the function giveBack. The caller may flush,
// kill and reconfigure the server.
func Borrow(ctx context.Context, engine string) (s *testserver.Server, giveBack func(), err error) {
	one := take(engine)
	if one == nil {
		if one, err = start(ctx, engine); err != nil {
			return nil, nil, err
		}
	}
	return one.Server, one.giveBack, nil
}

func take(engine string) *server {
	pool.Lock()
	defer pool.Unlock()
	all := pool.idle[engine]
	if len(all) == 0 {
		return nil
	}
	one := all[len(all)-1]
	pool.idle[engine] = all[:len(all)-1]
	return one
}

func start(ctx context.Context, engine string) (*server, error) {
	s, err := testserver.Start(ctx, engine, testserver.Options{Args: promptly})
	if err != nil {
		return nil, err
	}
	one := &server{Server: s}
	err = one.do(func(ctx context.Context, c *redis.Client) (err error) {
		one.began, err = stateOf(ctx, c)
		return err
	})
	if err != nil {
		s.Stop()
		return nil, err
	}
	return one, nil
}

// giveBack empties the server and puts it into the pool. It stops a server that does not answer, that replicates, or
// whose configuration has changed.
func (s *server) giveBack() {
	if err := s.do(s.reset); err != nil {
		s.Stop()
		return
	}
	pool.Lock()
	defer pool.Unlock()
	if pool.idle == nil {
		pool.idle = make(map[string][]*server)
	}
	pool.idle[s.Engine] = append(pool.idle[s.Engine], s)
}

func (s *server) reset(ctx context.Context, c *redis.Client) error {
	for _, command := range [][]any{
		{"CLIENT", "UNPAUSE"}, {"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}, {"CLIENT", "KILL", "TYPE", "pubsub"},
		{"FLUSHALL"}, {"SCRIPT", "FLUSH"}, {"ACL", "DELUSER", account}, {"ACL", "LOG", "RESET"}, {"CONFIG", "RESETSTAT"},
	} {
		if err := c.Do(ctx, command...).Err(); err != nil {
			return err
		}
	}
	replication, err := c.Info(ctx, "replication").Result()
	if err != nil {
		return err
	}
	if !strings.Contains(replication, "role:master") || !strings.Contains(replication, "connected_slaves:0") {
		return errors.New("the server replicates")
	}
	now, err := stateOf(ctx, c)
	if err == nil && !(maps.Equal(now.config, s.began.config) && slices.Equal(now.users, s.began.users)) {
		err = errors.New("the server's configuration has changed")
	}
	return err
}

func stateOf(ctx context.Context, c *redis.Client) (now state, err error) {
	if now.config, err = c.ConfigGet(ctx, "*").Result(); err != nil {
		return now, err
	}
	now.users, err = c.Do(ctx, "ACL", "LIST").StringSlice()
	return now, err
}

func (s *server) do(what func(context.Context, *redis.Client) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
	defer c.Close()
	if err := what(ctx, c); err != nil {
		return fmt.Errorf("%s at %s: %w", s.Engine, s.Addr, err)
	}
	return nil
}

// borrow is Borrow for a test.
func borrow(tb testing.TB, engine string) *testserver.Server {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, giveBack, err := Borrow(ctx, engine)
	must(tb, err)
	tb.Cleanup(giveBack)
	return s
}
