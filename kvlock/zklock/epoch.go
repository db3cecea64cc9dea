package zklock

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/rowlock/rowlock/driver"
)

// An epoch is a time in which readers hold the lock. All readers of an epoch have the same token. A reader's request
// depends on the state of the queue. In the last two of these cases, the name of the reader's node contains the token
// of its epoch:
//
//   - If the queue is empty, the reader begins an epoch. The token is the id of the transaction that creates its node.
//     Like a writer, the reader writes the lock's node, so a writer that saw the empty queue is refused.
//   - If the queue has readers and no writer, the reader joins their epoch. The request names one of these readers,
//     and fails if that reader has released its share, or if a writer has created a node. So no reader joins an epoch
//     that has no readers, and an epoch that has ended never begins again.
//   - If the queue has a writer, the reader waits. The token is one more than the id of the last transaction that
//     wrote the lock's node. So the token is the same for all readers behind the same writer, and larger than that
//     writer's token. It is also smaller than the token of the next writer: the id of the reader's own transaction is
//     at least as large as the token, and the id of the next writer's transaction is larger still. This is also true
//     when a new leader begins a new range of ids, because the first id of a range is not used.
//
// A writer may give up while the readers before it hold the lock. The readers behind it then have a later token, and
// wait for all readers with an earlier token. So readers that hold the lock at the same time have the same token. If
// no other writer waits, a reader that waits behind the former writer deletes its node, and joins the earlier epoch
// with a new node.
//
// If the state of the queue changes during each of several attempts of a reader, the reader creates a node without a
// condition and without a token in its name. Such a node waits like a writer's node, and begins an epoch when it is
// the first of the queue.

// admission is the state of the lock that must still be true when the servers create a node for a request. For an
// exclusive request, and for the first reader of an epoch, only the version must still be the same.
type admission struct {
	version int32        // version of the lock's node; -1 matches any version
	epoch   driver.Token // the token of a share; zero if the request's own transaction makes the token
	beside  string       // if epoch is set, a node that must exist; its existence also proves that the lock's node was not removed and created again
	joins   bool         // the share joins readers that hold the lock
	ticked  bool         // the lock has a tick
}

const epochDigits = 16

// nodeName returns the name of e's node without its sequence number.
func (e *entry) nodeName() string {
	name := protected + e.nonce.String()
	switch {
	case !e.shared:
		return name + alone
	case e.epoch == 0:
		return name + sharing
	default:
		return fmt.Sprintf("%s-%0*x%s", name, epochDigits, int64(e.epoch), sharing)
	}
}

// tokenAt returns the token of the node at a path.
func tokenAt(at string, stat *zk.Stat) driver.Token {
	if p, ok := parse(path.Base(at)); ok && p.epoch != 0 {
		return p.epoch
	}
	return driver.Token(stat.Czxid)
}

// closes reports whether all later entries must wait for the entry p, which has the given index in the queue. This is
// true if p is a writer, or a reader that waits to begin an epoch.
func (p place) closes(index int) bool { return !p.shared || p.epoch == 0 && index > 0 }

// reads reports whether the entry p, which has the given index in the queue, is a reader that holds the lock with this
// token.
func (p place) reads(index int, token driver.Token) bool {
	return p.shared && (p.epoch == token || p.epoch == 0 && index == 0)
}

// firstClosing returns the index of the first entry of q that all later entries must wait for, or -1.
func firstClosing(q []place) int {
	for i, p := range q {
		if p.closes(i) {
			return i
		}
	}
	return -1
}

// blockers returns the entries that the entry at the given index waits for.
func blockers(q []place, index int) (all []place) {
	e := q[index]
	if e.epoch == 0 {
		return q[:index]
	}
	for i, p := range q {
		if i < index && p.closes(i) || p.shared && p.epoch < e.epoch && !p.closes(i) {
			all = append(all, p)
		}
	}
	return all
}

// lead returns the index of an entry that holds the lock. If readers hold the lock, that is an entry with the smallest
// token of all readers at the head of the queue.
func lead(q []place) (index int) {
	for i, p := range q {
		if q[index].epoch == 0 || p.closes(i) {
			break
		}
		if p.epoch < q[index].epoch {
			index = i
		}
	}
	return index
}

// readers returns how many readers hold the lock. The parameter token is the token of these readers.
func readers(q []place, token driver.Token) (n int) {
	for i, p := range q {
		if p.reads(i, token) {
			n++
		}
	}
	return n
}

// join returns the admission of a share beside the readers that hold the lock. The queue has no writer.
func (s *store) join(ctx context.Context, open *session, key driver.Key, seen sight) (admission, error) {
	first := seen.queue[lead(seen.queue)]
	a := admission{version: seen.version, epoch: first.epoch, joins: true, ticked: seen.ticked}
	beside := first
	if first.epoch == 0 {
		n, err := s.read(ctx, open, s.container(key)+"/"+first.node)
		if err != nil && !errors.Is(err, zk.ErrNoNode) { // if that reader has released its share, the request that depends on it will fail and be repeated
			return a, err
		}
		a.epoch = max(n.token, 1)
	}
	for _, p := range seen.queue { // the newest reader probably stays longest
		if p.epoch == a.epoch {
			beside = p
		}
	}
	a.beside = s.container(key) + "/" + beside.node
	return a, nil
}

// standShared puts a share into the queue, or grants it.
func (b *Backend) standShared(ctx context.Context, s *session, r driver.Request) (*entry, error) {
	const tries = 5
	for try := 0; ; try++ {
		seen, err := b.look(ctx, s, r.Key)
		closing := firstClosing(seen.queue)
		a := admission{version: seen.version}
		switch {
		case errors.Is(err, zk.ErrNoNode):
			if err = b.make(ctx, s, r.Key); err == nil {
				continue
			}
		case err != nil, len(seen.queue) == 0:
		case try >= tries:
			a.version = -1
		case closing < 0:
			a, err = b.join(ctx, s, r.Key, seen)
		default:
			a.epoch, a.ticked = driver.Token(seen.written)+1, seen.ticked
			a.beside = b.container(r.Key) + "/" + seen.queue[closing].node
		}
		if err != nil {
			return nil, ofRead(err)
		}
		if err := s.await(ctx); err != nil {
			return nil, err
		}
		e := b.enter(s, r, a)
		if err := e.wait(ctx); !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrBadVersion) {
			return e, nil
		}
	}
}

// gone deletes e's node, and reports whether it is certainly deleted.
func (e *entry) gone(ctx context.Context) bool {
	removal := e.remove("")
	select {
	case <-removal.done:
		return !driver.IsPermanent(removal.err) && e.session.ctx.Err() == nil
	case <-e.session.ctx.Done():
	case <-ctx.Done():
	}
	return false
}
