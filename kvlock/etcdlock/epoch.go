package etcdlock

import (
	"context"
	"strconv"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// An epoch is the time between two exclusive grants of a lock in which readers hold it. The key
// PREFIX/NAMESPACE/NAME/%epoch keeps the token of the epoch, so that all readers get the same token. The first reader
// creates the token, which is the create revision of that reader's entry. Entries that were granted exclusively before
// have smaller revisions, and entries that can be granted exclusively later have larger ones. So tokens rise.
//
// Every exclusive grant deletes the key in the transaction that makes the grant, and so does a forced release. An
// exclusive request that is never granted does not end the epoch, because the readers before and after it may hold the
// lock at the same time. The release of the last share deletes the key, too. If the last reader dies, the key remains
// until the next exclusive grant or Prune. A later reader may then get the same token again, because nobody else has
// held the lock meanwhile.

// join returns the operation that begins an epoch, in a transaction that puts the key of a reader. It does so if there is
// no epoch, and if the condition is true at the start of the transaction.
func (b *Backend) join(key driver.Key, condition ...clientv3.Cmp) clientv3.Op {
	none := append(condition, absent(b.epochKey(key)))
	return clientv3.OpTxn(none, []clientv3.Op{clientv3.OpPut(b.epochKey(key), "")}, nil)
}

// parseEpoch returns the token in the key of an epoch. The value is empty if the transaction that put the key also put
// the reader's entry. Then both have the same revision.
func parseEpoch(kv *mvccpb.KeyValue) driver.Token {
	token, err := strconv.ParseInt(string(kv.Value), 10, 64)
	if err != nil {
		token = kv.ModRevision
	}
	return driver.Token(token)
}

// settle grants the lock to an entry that no other key blocks any longer, and returns the grant's token. The parameter
// revision is the create revision of the entry's key. The parameter epoch is the token of the epoch, or zero if there is
// none. The caller has read both in one transaction.
//
// An exclusive grant ends the epoch, if there is one. A shared grant gets the token of the epoch, or begins an epoch
// if there is none. settle sends a request only if it has to end or begin an epoch.
func (b *Backend) settle(ctx context.Context, e *entry, revision int64, epoch driver.Token) (driver.Token, error) {
	key := b.epochKey(e.key)
	change := clientv3.OpDelete(key)
	switch {
	case e.shared && epoch != 0:
		return epoch, nil
	case e.shared: // another reader may begin the epoch first; then use its token
		begin := clientv3.OpPut(key, strconv.FormatInt(revision, 10))
		change = clientv3.OpTxn([]clientv3.Cmp{absent(key)}, []clientv3.Op{begin}, nil)
	case epoch == 0:
		return driver.Token(revision), nil
	}
	reply, err := b.commit(ctx, []clientv3.Cmp{created(e.path, revision)}, []clientv3.Op{change, b.marks(e.key)}, nil)
	switch {
	case err != nil:
		return 0, err
	case !reply.Succeeded:
		return 0, driver.NotApplied(errEntryLost)
	case e.shared:
		_, epoch = b.marksOf(reply)
		return epoch, nil
	}
	return driver.Token(revision), nil
}
