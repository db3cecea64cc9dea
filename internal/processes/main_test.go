//go:build unix

// Package processes_test proves the promises with real processes on real databases. Worker processes use a lock while they are
// suspended for longer than their lease, evicted and killed. The tests judge what the workers reported and what is in the tables.
// There are two programs:
//
//   - counting: the workers count in a row under the lock, and the token alone rejects stale writers.
//   - chaining: the workers read the end of a chain and write the next links in later transactions, behind the fence. The chain must
//     not break. Without the fence it must.
package processes_test

import (
	"os"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/leaks"
)

const (
	ttl     = time.Second
	workers = 8
	names   = 2
)

func TestMain(m *testing.M) {
	if text := os.Getenv(jobVariable); text != "" {
		work(text)
		return
	}
	leaks.Main(m)
}
