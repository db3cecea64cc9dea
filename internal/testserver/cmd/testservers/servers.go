package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rowlock/rowlock/internal/testserver"
)

// servers contains the servers that were started.
type servers struct {
	durable bool

	mu      sync.Mutex
	dsn     map[string]string // the DSNs of the available engines, by engine
	running []*testserver.Server
	compose compose
	failed  bool
}

// start provides the engines. Engines that do not need each other start at the same time.
func (s *servers) start(ctx context.Context, engines []string) {
	begin := time.Now()
	var group sync.WaitGroup
	poolers := []string{testserver.PgBouncer, testserver.NewPgBouncer}
	if slices.ContainsFunc(append(poolers, testserver.Postgres), func(e string) bool { return slices.Contains(engines, e) }) {
		group.Go(func() {
			s.provide(ctx, testserver.Postgres)
			for _, e := range poolers {
				if slices.Contains(engines, e) {
					group.Go(func() { s.provide(ctx, e) })
				}
			}
		})
	}
	for _, e := range []string{testserver.MySQL, testserver.MariaDB, testserver.Redis, testserver.Valkey, testserver.Etcd, testserver.ZooKeeper} {
		if slices.Contains(engines, e) {
			group.Go(func() { s.provide(ctx, e) })
		}
	}
	group.Wait()
	if ctx.Err() == nil {
		say("%d of %d servers ready after %v", len(s.dsn), len(s.dsn)+s.missing(engines), time.Since(begin).Round(10*time.Millisecond))
	}
}

func (s *servers) missing(engines []string) (n int) {
	for _, e := range engines {
		if s.dsn[e] == "" {
			n++
		}
	}
	return n
}

// provide uses the server that the environment names. If there is none, provide starts a server on this machine,
// or in a container if that is not possible.
func (s *servers) provide(ctx context.Context, engine string) {
	if given := os.Getenv(testserver.Variable(engine)); given != "" {
		s.add(engine, given, nil)
		return
	}
	server, err := s.startHere(ctx, engine)
	if err == nil {
		s.add(engine, server.DSN, server)
		return
	}
	if ctx.Err() != nil {
		return
	}
	if found, composeErr := s.compose.up(ctx, engine); composeErr == nil {
		for e, dsn := range found {
			s.add(e, dsn, nil)
		}
		return
	} else if !errors.Is(composeErr, errNoDocker) {
		err = errors.Join(err, composeErr)
	}
	s.mu.Lock()
	s.failed = true
	s.mu.Unlock()
	say("left out: %v", err)
}

func (s *servers) startHere(ctx context.Context, engine string) (*testserver.Server, error) {
	s.mu.Lock()
	o := testserver.Options{Durable: s.durable, Logf: say, Postgres: s.dsn[testserver.Postgres]}
	s.mu.Unlock()
	return testserver.Start(ctx, engine, o)
}

func (s *servers) add(engine, dsn string, server *testserver.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dsn[engine] = dsn
	if server != nil {
		s.running = append(s.running, server)
	}
}

// environment returns the environment variables with the DSNs of the servers.
func (s *servers) environment() (variables []string) {
	for _, e := range testserver.Engines {
		if s.dsn[e] != "" {
			variables = append(variables, testserver.Variable(e)+"="+s.dsn[e])
		}
	}
	return variables
}

func (s *servers) stop() {
	var group sync.WaitGroup
	for _, server := range s.running {
		group.Go(server.Stop)
	}
	group.Go(s.compose.down)
	group.Wait()
	var costs []string
	var sum time.Duration
	for _, server := range s.running {
		cost := fmt.Sprintf("%s %.1f", server.Engine, server.Used.Minutes())
		if server.Sessions > 0 {
			cost += fmt.Sprintf(" (%d sessions)", server.Sessions)
		}
		costs, sum = append(costs, cost), sum+server.Used
	}
	if len(costs) > 0 {
		say("the servers used %.1f processor minutes: %s", sum.Minutes(), strings.Join(costs, ", "))
	}
}
