package locktest

import (
	"errors"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// writerCases check the waiters for an exclusive grant of a name that readers hold.
var writerCases = []testCase{
	{
		name:    "writer-is-not-passed",
		promise: "A waiter for an exclusive grant acquires the name after the last shared grant has ended. No later shared request overtakes it.",
		run:     writerIsNotPassed,
	},
	{
		name:    "writer-keeps-readers-out",
		promise: "While a waiter for an exclusive grant waits for readers, the store grants no further shares, even after the last of these readers has released the name. The readers keep their shares until then.",
		run:     writerKeepsReadersOut,
	},
	{
		name:    "writer-that-gives-up-lets-readers-in",
		promise: "After a waiter for an exclusive grant has given up, the next shared request is granted at once.",
		run:     writerThatGivesUpLetsReadersIn,
	},
	{
		name:    "writer-keeps-its-own-reservation",
		promise: "If one of two waiters for an exclusive grant gives up, the store still grants no further shares. It grants them after the second waiter has given up.",
		run:     writerKeepsItsOwnReservation,
	},
}

// needReservations skips a case if the backend grants no shared locks, or if its store has a queue.
func (t *trial) needReservations(b driver.Backend) {
	t.needShares(b)
	if _, queues := b.(driver.Awaiter); queues {
		t.skipf("the store has a queue, which a request enters only by driver.Awaiter")
	}
}

// keptOut waits until the store knows that a caller waits for an exclusive grant of name, and refuses later readers.
func (t *trial) keptOut(reader *rowlock.Locker, name string) {
	t.poll("the store knows the waiter for an exclusive grant, and refuses later readers", func() bool {
		lease, err := reader.TryAcquire(t.ctx, name)
		if lease != nil {
			_ = lease.Release(t.ctx)
			return false
		}
		return errors.Is(err, rowlock.ErrHeld)
	})
}

func writerIsNotPassed(t *trial) {
	a, b := t.open(), t.open()
	t.needShares(a)
	name := t.key("x").Name
	reading := t.acquire(t.locker(a, rowlock.Shared()), name)
	writer := t.wait(t.ctx, t.locker(a), name)
	reader := t.locker(b, rowlock.Shared())
	t.keptOut(reader, name)
	select {
	case <-writer.done:
		t.fatalf("an exclusive acquire ended while a shared grant was held; its error: %v", writer.err)
	default:
	}
	t.handOn(reading)
	lease := t.has(writer)
	t.refuse(b, t.reading(driver.Key{Name: name}))
	if err := lease.Release(t.ctx); err != nil {
		t.fatalf("release: %v", err)
	}
	t.acquire(reader, name)
}

func writerKeepsReadersOut(t *trial) {
	a, b := t.open(), t.open()
	t.needReservations(a)
	key := t.key("x")
	first := t.reading(key)
	one, two := t.grant(a, first), t.grant(b, t.reading(key))
	t.refuse(b, t.request(key)) // this request does not wait
	three := t.grant(a, t.reading(key))
	writer := t.request(key)
	writer.Waits = true
	t.refuse(b, writer)
	writer.Waiting = true
	t.refuse(a, t.reading(key))
	t.isHeld(b, two)
	t.grant(a, first) // a repeated request
	t.release(a, one)
	t.release(b, two)
	t.refuse(a, writer) // repeated, because a reservation ends soon after the last request
	t.refuse(b, t.reading(key))
	t.refuse(a, writer)
	t.release(a, three)
	t.refuse(a, t.reading(key))
	t.release(b, t.grantAtLast(b, writer))
	t.grantAtLast(a, t.reading(key))
}

func writerThatGivesUpLetsReadersIn(t *trial) {
	a, b := t.open(), t.open()
	t.needShares(a)
	name := t.key("x").Name
	t.acquire(t.locker(a, rowlock.Shared()), name)
	reader := t.locker(b, rowlock.Shared())
	ctx, giveUp := t.withTimeout(t.patience)
	defer giveUp()
	writer := t.wait(ctx, t.locker(a), name)
	t.keptOut(reader, name)
	giveUp()
	<-writer.done
	if writer.err == nil {
		t.fatalf("an exclusive acquire succeeded while a shared grant was held")
	}
	var refused error
	granted := func() bool {
		_, refused = reader.TryAcquire(t.ctx, name)
		return refused == nil
	}
	if anonymous(a) { // the reservation belongs to a connection, whose end the server notices a little later
		t.poll("a shared grant after the waiter for an exclusive grant has given up", granted)
	} else if !granted() {
		t.fatalf("a shared request after the waiter for an exclusive grant has given up: %v", refused)
	}
}

func writerKeepsItsOwnReservation(t *trial) {
	a, b := t.open(), t.open()
	t.needReservations(a)
	key := t.key("x")
	share := t.grant(a, t.reading(key))
	one, two := t.request(key), t.request(key)
	one.Waits, two.Waits = true, true
	t.refuse(a, one)
	t.refuse(b, two)
	t.takeBack(b, two)
	t.refuse(b, t.reading(key))
	t.refuse(b, two)
	t.refuse(a, one)
	t.takeBack(a, one)
	t.refuse(a, t.reading(key))
	t.takeBack(b, two)
	t.isHeld(a, share)
	t.grant(a, t.reading(key))
}
