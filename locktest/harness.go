package locktest

import (
	"context"

	"github.com/rowlock/rowlock/driver"
)

// Harness opens clients of one store.
type Harness interface {
	// Open returns an independent client with its own connections, like another process. All clients of one
	// harness see the same locks. Several goroutines may call Open at the same time.
	//
	// A client can be used until [Closer] closes it. Otherwise the harness closes it when the test that
	// created the harness ends.
	Open(ctx context.Context) (driver.Backend, error)
}

// Closer is implemented by a harness that can close a client before the test ends. The suite then has few
// connections open at a time.
type Closer interface {
	// Close ends the connections of a client that the harness has opened. It also ends everything that runs for these
	// connections. The client is not used afterwards.
	Close(b driver.Backend) error
}

// Expirer is implemented by a harness that can make a lease expire at once.
type Expirer interface {
	// Expire ends the lease on key now, by the store's clock, as if its TTL were over. For example, it moves
	// the times of the row into the past. A hand-over delay starts then. If grants end with a session, Expire
	// ends that session.
	Expire(ctx context.Context, key driver.Key) error
}

// Crasher is implemented by a harness that can kill a client.
type Crasher interface {
	// Crash makes a client fail without closing anything properly. Its connections are gone, and its later
	// requests do not arrive.
	Crash(b driver.Backend) error
}

// Partitioner is implemented by a harness that can cut a client off.
type Partitioner interface {
	// Cut drops all packets of a client in both directions, without rejecting connections.
	Cut(b driver.Backend) error
	// Restore ends the cut. Connections that were opened before the cut need not work afterwards.
	Restore(b driver.Backend) error
}

// ReplyDropper is implemented by a harness that can lose a reply.
type ReplyDropper interface {
	// DropReply lets the store apply the next request of a client, but loses its reply. The client gets no
	// reply, or an error that its connection broke. The suite has the client make each kind of request first,
	// so that its connection is open and its statements are prepared.
	DropReply(b driver.Backend) error
}

// Restarter is implemented by a harness that can restart the store.
type Restarter interface {
	// Restart ends the store as a crash does, and starts it again with the data that it keeps over a crash. It
	// returns when the store replies to requests again. Connections that were opened before need not work afterwards.
	// No other case runs meanwhile.
	Restart(ctx context.Context) error
}

// Counter is implemented by a harness that can count the requests of a client.
type Counter interface {
	// Requests returns how many requests a client has sent to the store since it was opened. What a client sends
	// before it needs a reply is one request.
	Requests(b driver.Backend) (int, error)
}

// Limited is implemented by a harness that can open a client whose account lacks a right.
type Limited interface {
	// OpenLimited does the same as Open, but the store denies the client's account one of the rights that a grant
	// needs. Errors of the client contain the text missing, such as the name of the right or of the table.
	OpenLimited(ctx context.Context) (b driver.Backend, missing string, err error)
}

// Exempter is implemented by a harness whose backend declares that it does not keep all promises.
type Exempter interface {
	// Exempt returns the names of the cases to skip, each with the reason from the backend's documentation.
	// A name that belongs to no case fails the run.
	Exempt() map[string]string
}

// Solitary is implemented by a harness whose store cannot run several cases at the same time, such as one
// with a single writer. The cases then run one after the other.
type Solitary interface {
	Solitary()
}

// power is an optional interface that a case needs.
type power struct {
	name string // the interface's name in this package
	has  func(Harness) bool
}

func powerOf[P any](name string) power {
	return power{name, func(h Harness) bool { _, ok := h.(P); return ok }}
}

var (
	closing      = powerOf[Closer]("Closer")
	expiring     = powerOf[Expirer]("Expirer")
	crashing     = powerOf[Crasher]("Crasher")
	partitioning = powerOf[Partitioner]("Partitioner")
	dropping     = powerOf[ReplyDropper]("ReplyDropper")
	restarting   = powerOf[Restarter]("Restarter")
	counted      = powerOf[Counter]("Counter")
	limited      = powerOf[Limited]("Limited")
	solitary     = powerOf[Solitary]("Solitary")
)
