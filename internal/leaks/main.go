// Package leaks ends the tests of a package with the check that no goroutine is left. Drivers close some things after the call that
// gave them up; those are waited for, which goleak does for half a second.
package leaks

import (
	"time"

	"go.uber.org/goleak"
)

// patience is longer than any of lingering needs.
const patience = 16 * time.Second

// lingering are functions that end by themselves, but not with the call that began them.
var lingering = []goleak.Option{
	// A connection whose statement was given up: it has the statement cancelled and hears the server out, for up to 15 s. A pool of pgx's
	// own waits for that when it is closed, one of database/sql does not.
	goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgconn.(*PgConn).asyncClose.func1"),
	// Who connects in the moment in which a listener is closed hears nothing; Linux sends the packet again after 1 s, which is refused.
	goleak.IgnoreAnyFunction("net.(*Dialer).DialContext"),
	// A client of Redis for which nobody answers looks once a second whether it was closed.
	goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"),
}

// Main runs the tests of a package and exits: with a failure if a goroutine is left.
func Main(m goleak.TestingM) { goleak.VerifyTestMain(patient{m}) }

type patient struct{ goleak.TestingM }

// Run returns when nothing that lingers is left, or when something else is.
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
