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
const epochMark = "%epoch"

// epochKey returns the key of the lock's epoch.
func (b *Backend) epochKey(key driver.Key) string {
	return b.under(key.Namespace) + escaper.Replace(key.Name) + "/" + epochMark
}

// epoch returns the operation that reads the epoch of a lock. The function epochOf decodes its reply.
func (b *Backend) epoch(key driver.Key) clientv3.Op { return clientv3.OpGet(b.epochKey(key)) }

// join returns two operations for a transaction that puts an entry. If there is no epoch, and the condition is true at
// the start of the transaction, the first operation puts the key of a new epoch. The second operation reads the epoch.
func (b *Backend) join(key driver.Key, condition ...clientv3.Cmp) []clientv3.Op {
	none := append(condition, clientv3.Compare(clientv3.CreateRevision(b.epochKey(key)), "=", 0))
	return []clientv3.Op{clientv3.OpTxn(none, []clientv3.Op{clientv3.OpPut(b.epochKey(key), "")}, nil), b.epoch(key)}
}

// epochOf decodes the reply of operation n, which reads an epoch. It returns zero if there is no epoch.
func epochOf(reply *clientv3.TxnResponse, n int) driver.Token {
	if kvs := reply.Responses[n].GetResponseRange().Kvs; len(kvs) > 0 {
		return parseEpoch(kvs[0])
	}
	return 0
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

// settle grants the lock to an entry that no other entry blocks any longer, and returns the grant's token. The
// parameter revision is the entry's create revision. The parameter epoch is the token of the epoch, or zero if there
// is none. The caller has read both in one transaction.
//
// An exclusive grant ends the epoch, if there is one. A shared grant gets the token of the epoch, or begins an epoch
// if there is none. settle sends a request only if it has to end or begin an epoch.
func (b *Backend) settle(ctx context.Context, r driver.Request, entry string, revision int64, epoch driver.Token) (driver.Token, error) {
	at := b.epochKey(r.Key)
	on := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(entry), "=", revision)}
	var then, otherwise []clientv3.Op
	switch {
	case r.Shared && epoch != 0:
		return epoch, nil
	case r.Shared:
		on = append(on, clientv3.Compare(clientv3.CreateRevision(at), "=", 0))
		then = []clientv3.Op{clientv3.OpPut(at, strconv.FormatInt(revision, 10))}
		otherwise = []clientv3.Op{b.epoch(r.Key), clientv3.OpGet(entry, clientv3.WithKeysOnly())}
	case epoch == 0:
		return driver.Token(revision), nil
	default:
		then = []clientv3.Op{clientv3.OpDelete(at)}
	}
	reply, err := b.commit(ctx, on, then, otherwise)
	switch {
	case err != nil:
		return 0, err
	case reply.Succeeded:
		return driver.Token(revision), nil
	case r.Shared:
		found := reply.Responses[1].GetResponseRange().Kvs
		if len(found) > 0 && found[0].CreateRevision == revision {
			return epochOf(reply, 0), nil // another reader has begun the epoch, so use its token
		}
	}
	return 0, driver.NotApplied(errEntryLost)
}
