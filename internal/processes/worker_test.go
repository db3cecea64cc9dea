//go:build unix

package processes_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"os/signal"
	"syscall"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/inherit"
)

// job tells a worker process what to do. The process gets it in an environment variable.
type job struct {
	Program    string
	Store, DSN string
	Worker     int      // a different number for each process
	Mixed      bool     // the workers of the fleet are of different kinds
	Environ    []string // further environment variables of the worker
}

const jobVariable = "ROWLOCK_TEST_JOB"

// name returns the number of the lock that the worker uses.
func (j job) name() int { return j.Worker % names }

// program is the function that a worker runs repeatedly.
type program struct {
	options []rowlock.Option
	fenced  bool
	hold    func(worker, context.Context, *rowlock.Locker) // uses one lease
}

// The programs.
const (
	counting = "counting"
	chaining = "chaining"
	unfenced = "chaining without the fence"
)

var programs = map[string]program{
	counting: {hold: worker.count},
	chaining: {hold: worker.extend, options: renewedLate, fenced: true},
	unfenced: {hold: worker.extend, options: renewedLate},
}

// renewedLate makes renewals rarer than by default (a third of the TTL). A holder notices only at a renewal that its
// lock was force-released. With rare renewals, the holder continues for a while before it notices.
var renewedLate = []rowlock.Option{rowlock.RenewEvery(ttl / 2)}

// worker is the state of a worker process.
type worker struct {
	job
	program
	d     database
	db    *sql.DB
	guard *fence.Guard
}

func newWorker(j job) worker {
	w := worker{job: j, program: programs[j.Program], d: databases[j.Store]}
	var err error
	w.db, err = sql.Open(w.d.driver, j.DSN)
	must(err)
	w.guard = w.d.guard(w.db)
	return w
}

// work is the main function of a worker. It runs until SIGTERM, or until nobody reads its output.
func work(text string) {
	var j job
	must(json.Unmarshal([]byte(text), &j))
	if os.Getenv(inherit.Variable) != "" {
		newWorker(j).inherit()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	w := newWorker(j)
	defer func() { _ = w.db.Close() }()
	backend, closeBackend := w.d.backend(w.db, j.DSN)
	defer closeBackend()
	options := append([]rowlock.Option{rowlock.TTL(ttl)}, w.options...)
	if w.fenced {
		options = append(options, rowlock.Fenced(w.guard))
	}
	locker, err := rowlock.New(backend, options...)
	must(err)
	defer func() { _ = locker.Close() }()
	w.tell(event{What: started})
	for ctx.Err() == nil {
		w.hold(w, ctx, locker)
	}
}

// tell writes e to the standard output. If e.At is 0, the method sets it to the current time.
func (w worker) tell(e event) {
	if e.At == 0 {
		e.At = now()
	}
	line, err := json.Marshal(e)
	must(err)
	_, err = os.Stdout.Write(append(line, '\n'))
	must(err)
}

// must panics if err is not nil. The process then exits with an error, which fails the test.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
