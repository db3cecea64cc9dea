// Package leaks runs the tests of a package, and then checks that no goroutine is left.
// Drivers close some connections in the background, which can take seconds. goleak waits only half a second
// for goroutines to end. This package waits longer.
package leaks

import (
	"time"

	"go.uber.org/goleak"
)

// patience is longer than any function in the list lingering runs.
const patience = 16 * time.Second

// lingering lists functions that end by themselves, but later than the call that started them.
var lingering = []goleak.Option{
	// If a statement was cancelled, pgx sends the cancel request in the background, and waits for the server for up to
	// 15 s. If a pgx pool is closed, Close waits for that goroutine. If a pool of database/sql is closed, Close does
	// not wait for it.
	goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgconn.(*PgConn).asyncClose.func1"),
	// If a client connects while the server closes its listener, the client gets no reply.
	// Linux sends the packet again after 1 s, and then the connection is refused.
	goleak.IgnoreAnyFunction("net.(*Dialer).DialContext"),
	// A Redis client that cannot connect retries once a second, and only then notices that it was closed.
	goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"),
}

// Main runs the tests of a package and exits. It fails if a goroutine is left.
func Main(m goleak.TestingM) { goleak.VerifyTestMain(patient{m}) }

type patient struct{ goleak.TestingM }

// Run runs the tests. If they pass, it waits until the goroutines of the list lingering have ended, for at most the
// time patience. If any other goroutine is left, Run does not wait.
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
