// Package processes_test proves the promises with real processes on real databases: eight workers
// count under a lock, while they are killed and paused for longer than their lease, and a checker
// reads what they wrote down.
package processes_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const (
	ttl     = time.Second
	workers = 8
	names   = 2
)

// job is what a worker process is told, in its environment.
type job struct {
	Store, DSN string
	Log        string // where it writes its events
	Worker     int    // its remainder by names is what it counts
}

const jobVariable = "ROWLOCK_TEST_JOB"

func TestMain(m *testing.M) {
	if text := os.Getenv(jobVariable); text != "" {
		var j job
		if err := json.Unmarshal([]byte(text), &j); err != nil {
			panic(err)
		}
		j.work()
		return
	}
	goleak.VerifyTestMain(m)
}
