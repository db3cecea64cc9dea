// Package leaks runs the tests of a package, and then checks that no goroutine is left. Drivers close some
// connections in the background. goleak waits for them for half a second, and this package waits for longer.
package leaks

import (
	"time"

	"go.uber.org/goleak"
)

// patience is longer than the time that any function in lingering takes.
const patience = 16 * time.Second

// lingering lists functions that end by themselves, but later than the call that started them.
var lingering = []goleak.Option{
	// A connection whose statement was cancelled sends the cancellation and waits for the server, for up to
	// 15 s. When a pool of pgx is closed, it waits for that. A pool of database/sql does not.
	goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgconn.(*PgConn).asyncClose.func1"),
	// A client that connects while the listener is being closed gets no reply. Linux repeats the packet after
	// 1 s, which is then rejected.
	goleak.IgnoreAnyFunction("net.(*Dialer).DialContext"),
	// A client of Redis that gets no reply checks once a second whether it was closed.
	goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"),
}

// Main runs the tests of a package and exits. It fails if a goroutine is left.
func Main(m goleak.TestingM) { goleak.VerifyTestMain(patient{m}) }

type patient struct{ goleak.TestingM }

// Run runs the tests. It returns when no lingering goroutine is left, or when another goroutine is.
func (p patient) Run() int {
	code := p.TestingM.Run()
	if code == 0 {
		await(time.Now().Add(patience))
	}
	return code
}

func await(end time.Time) {
	for goleak.Find() != nil && goleak.Find(lingering...) == nil && time.Now().Before(end) {
	}
}
