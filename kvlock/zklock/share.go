package zklock

import (
	"context"
	"errors"
	"fmt"

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

// admission is the state of the lock that must still be true when the servers create a node for a request. For an
// exclusive request, and for the first reader of an epoch, only the version must still be the same.
type admission struct {
	version int32        // version of the lock's node; -1 matches any version
	epoch   driver.Token // the token of a share; zero if the request's own transaction makes the token
	beside  string       // if epoch is set, a node that must exist; its existence also proves that the lock's node was not removed and created again
	joins   bool         // the share joins readers that hold the lock
	ticked  bool         // the lock has a tick
}

// nodeName returns the name of e's node without its sequence number.
func (e *entry) nodeName() string {
	name := protected + e.Nonce.String()
	switch {
	case !e.Shared:
		return name + alone
	case e.epoch == 0:
		return name + sharing
	default:
		return fmt.Sprintf("%s-%0*x%s", name, epochDigits, int64(e.epoch), sharing)
	}
}

// join returns the admission of a share to a queue that is not empty. If the queue has a writer, the share waits.
// Otherwise it joins the readers that hold the lock.
func (b *Backend) join(ctx context.Context, s *session, key driver.Key, seen sight) (admission, error) {
	a := admission{version: seen.stat.Version, epoch: driver.Token(seen.stat.Mzxid) + 1, ticked: seen.ticked}
	beside := seen.queue[len(seen.queue)-1] // the newest entry probably stays longest
	if firstWriter(seen.queue) < 0 {
		oldest := lead(seen.queue)
		a.epoch, a.joins = oldest.epoch, true
		if oldest.epoch == 0 {
			n, err := b.read(ctx, s, b.container(key)+"/"+oldest.node)
			if err != nil && !errors.Is(err, zk.ErrNoNode) { // if that reader has released its share, the request that depends on it will fail and be repeated
				return a, err
			}
			a.epoch = max(n.Token, 1)
		}
		holders := readers(seen.queue, a.epoch)
		beside = holders[len(holders)-1]
	}
	a.beside = b.container(key) + "/" + beside.node
	return a, nil
}
