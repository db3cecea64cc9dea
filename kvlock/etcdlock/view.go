package etcdlock

import (
	"context"
	"encoding/json"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// view is what one read found of a lock.
type view struct {
	queue []*mvccpb.KeyValue // the oldest key first
	tick  tick
	epoch driver.Token // zero if there is none
}

// view returns the operations that read a lock. The function viewOf decodes their replies.
func (b *Backend) view(key driver.Key) []clientv3.Op {
	return []clientv3.Op{
		clientv3.OpGet(b.queue(key), clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend)),
		b.marks(key),
	}
}

func (b *Backend) viewOf(reply *clientv3.TxnResponse) (v view) {
	v.queue = reply.Responses[0].GetResponseRange().Kvs
	v.tick, v.epoch = b.marksOf(reply)
	return v
}

// inspect reads a lock.
func (b *Backend) inspect(ctx context.Context, key driver.Key) (view, error) {
	reply, err := b.commit(ctx, nil, b.view(key), nil)
	if err != nil {
		return view{}, ofRead(err)
	}
	return b.viewOf(reply), nil
}

// find returns the key of e, or nil. It reports whether another key blocks e.
func (v view) find(e *entry) (mine *mvccpb.KeyValue, blocked bool) {
	for _, kv := range v.queue {
		if string(kv.Key) == e.path {
			return kv, blocked
		}
		blocked = blocked || !e.shared || isExclusive(kv)
	}
	return nil, blocked
}

// head returns the holder's key, the holder's token, and the number of readers that hold the lock. If several readers
// hold the lock, head returns the youngest of their keys. If no reader has begun an epoch yet, the token is the create
// revision of the oldest key.
func (v view) head() (holder *mvccpb.KeyValue, token driver.Token, readers int) {
	for readers < len(v.queue) && !isExclusive(v.queue[readers]) {
		readers++
	}
	switch {
	case len(v.queue) == 0:
		return new(mvccpb.KeyValue), 0, 0
	case readers == 0 || v.epoch == 0:
		token = driver.Token(v.queue[0].CreateRevision)
	default:
		token = v.epoch
	}
	return v.queue[max(0, readers-1)], token, readers
}

// held says why request r was refused. It sets no times, because only etcd's leader knows when the holder's lease ends.
func (v view) held(r driver.Request) *driver.Held {
	holder, token, readers := v.head()
	text, reason := parseValue(holder.Value), driver.Leased
	switch {
	case readers > 0 && r.Shared: // only a waiting writer can be the reason
		reason = driver.Reserved
	case token != 0 && holder.Lease == 0:
		reason = driver.Paused
	}
	return &driver.Held{Reason: reason, Holder: text.Holder, Note: text.Note, Token: token, Readers: readers}
}

// status returns the status of a lock. The parameter left is the remaining time of the holder's session.
func (v view) status(key driver.Key, left time.Duration) driver.Status {
	holder, token, readers := v.head()
	s := driver.Status{Key: key, Token: token, Done: v.tick.Done, ExpiresIn: left, FreeIn: left, Readers: readers, Waiters: v.waiting()}
	switch {
	case token == 0:
		return s
	case holder.Lease == 0:
		s.State = driver.StatePaused
	default:
		s.State = driver.StateHeld
	}
	text := parseValue(holder.Value)
	s.Holder, s.Note = text.Holder, text.Note
	return s
}

// waiting returns how many keys of the queue wait. An exclusive key waits unless it is the oldest. A shared key waits
// behind an exclusive key.
func (v view) waiting() (n int) {
	blocked := false
	for i, kv := range v.queue {
		exclusive := isExclusive(kv)
		if i > 0 && (exclusive || blocked) {
			n++
		}
		blocked = blocked || exclusive
	}
	return n
}

// value is the value of a key in the queue, for people to read.
type value struct {
	Holder string `json:"holder,omitempty"`
	Note   string `json:"note,omitempty"`
}

// put returns the operation that puts the key of e.
func put(e *entry, r driver.Request) clientv3.Op {
	text, _ := json.Marshal(value{r.Holder, r.Note}) // encoding two strings cannot fail
	return clientv3.OpPut(e.path, string(text), clientv3.WithLease(e.session.id))
}

// parseValue decodes a key's value. It returns an empty value for a text that this package did not write.
func parseValue(text []byte) (v value) {
	_ = json.Unmarshal(text, &v)
	return v
}
