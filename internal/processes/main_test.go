//go:build unix

// Package processes_test checks the promises with real processes on real databases. Worker processes use a lock,
// while some of them are suspended for longer than their TTL, lose the lock by ForceRelease, or are killed.
// The tests check the events that the workers reported and the contents of the tables.
// There are two programs for workers:
//
//   - counting: the workers add to a counter in one row while they hold the lock.
//     Only the token in that row rejects stale writers.
//   - chaining: the workers read the end of a chain and write the next links in later transactions. With the fence,
//     the chain must not break. In a control run without the fence, it must break. The workers of a mixed fleet are
//     written in different languages.
package processes_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/cli"
	"github.com/rowlock/rowlock/internal/cli/system"
	"github.com/rowlock/rowlock/internal/leaks"
)

const (
	ttl          = time.Second
	names        = 2
	workers      = 6 // the size of a fleet
	mixedWorkers = 8
)

func TestMain(m *testing.M) {
	if os.Getenv(commandVariable) != "" {
		os.Exit(cli.Main(context.Background(), os.Args[1:], system.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ(), Exits: true}))
	}
	if text := os.Getenv(jobVariable); text != "" {
		work(text)
		return
	}
	leaks.Main(m)
}
