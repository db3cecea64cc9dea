package locktest

import (
	"context"

	"github.com/rowlock/rowlock/driver"
)

// Harness opens clients of one store.
type Harness interface {
	// Open returns an independent client, as another process would be: with connections of its
	// own. All clients of one harness see the same locks. It is called concurrently.
	//
	// Clients stay usable until [Closer] is called for them, or until the test that made the
	// harness is over, which is when the harness cleans up.
	Open(ctx context.Context) (driver.Backend, error)
}

// Closer is implemented by a harness that can end a client before the whole test is over. The
// suite then has few connections open at a time.
type Closer interface {
	// Close ends the connections of a client that the harness has opened, and everything that
	// runs for them. The client is used no more.
	Close(b driver.Backend) error
}

// Expirer is implemented by a harness that can let a lease run out without waiting for it.
type Expirer interface {
	// Expire makes the lease on key end now, by the store's clock, as if its TTL had passed, for
	// instance by moving the instants of its row into the past. A hand-over delay begins with it.
	// Where grants live with a session, that session ends.
	Expire(ctx context.Context, key driver.Key) error
}

// Crasher is implemented by a harness that can let a client die.
type Crasher interface {
	// Crash makes a client vanish without goodbye: its connections are gone, and nothing that it
	// sends afterwards arrives.
	Crash(b driver.Backend) error
}

// Partitioner is implemented by a harness that can cut a client off.
type Partitioner interface {
	// Cut makes the network of a client a black hole: nothing is refused, nothing arrives, in
	// neither direction.
	Cut(b driver.Backend) error
	// Restore ends that. Connections from before need not work any more.
	Restore(b driver.Backend) error
}

// ReplyDropper is implemented by a harness that can lose a reply.
type ReplyDropper interface {
	// DropReply lets the next request of a client be carried out and its reply be lost: the client
	// hears nothing, or that its connection broke. The suite has the client make requests of every
	// kind before, so that its connection is open and its statements are prepared.
	DropReply(b driver.Backend) error
}

// Sharer is implemented by a harness whose backend has a shared form: several may hold a name by that,
// and exclude those who take it alone.
type Sharer interface {
	// Shared returns the shared form of a client that the harness has opened. It ends with that client.
	Shared(b driver.Backend) driver.Backend
}

// Exempter is implemented by a harness whose backend declares that it does not keep all promises.
type Exempter interface {
	// Exempt names the cases that are left out, each with the reason that the backend's
	// documentation gives. A case that does not exist fails the run.
	Exempt() map[string]string
}

// Solitary is implemented by a harness whose store suffers from cases that run beside one another,
// such as one with a single writer. They then run one after the other.
type Solitary interface {
	Solitary()
}

// power is something that a case needs of a harness.
type power struct {
	name string // of the interface
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
	sharing      = powerOf[Sharer]("Sharer")
	solitary     = powerOf[Solitary]("Solitary")
)
