package etcdlock

import (
	"encoding/json"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// The marks of a lock are two keys beside its queue: its tick, and its epoch (see epoch.go). They belong to no lease.
const (
	tickMark  = "%done"
	epochMark = "%epoch"
)

// marks returns the operation that reads the marks of a lock. It must be the last operation of its transaction, so that
// marksOf finds its reply.
func (b *Backend) marks(key driver.Key) clientv3.Op {
	return clientv3.OpGet(b.tickKey(key), clientv3.WithRange(b.epochKey(key)+"\x00"))
}

// marksOf decodes the reply of the last operation, which reads the marks of a lock. A missing mark is zero.
func (b *Backend) marksOf(reply *clientv3.TxnResponse) (t tick, epoch driver.Token) {
	for _, kv := range reply.Responses[len(reply.Responses)-1].GetResponseRange().Kvs {
		switch _, mark, _ := b.parse(string(kv.Key)); mark {
		case tickMark:
			t = parseTick(kv.Value)
		case epochMark:
			epoch = parseEpoch(kv)
		}
	}
	return t, epoch
}

// tick is the content of a lock's tick key. [driver.Grant].Done explains ticks.
type tick struct {
	Done     string       `json:"done,omitempty"`
	Token    driver.Token `json:"token,omitempty"`    // the token of the grant whose release recorded the tick
	Recorded int64        `json:"recorded,omitempty"` // the time of recording, in seconds since 1970 by the clock of the holder's process
}

// record returns the operation that records the tick of g.
func (b *Backend) record(g driver.Grant) clientv3.Op {
	text, _ := json.Marshal(tick{g.Done, g.Token, time.Now().Unix()}) // encoding a text and two numbers cannot fail
	return clientv3.OpPut(b.tickKey(g.Key), string(text))
}

// parseTick decodes the content of a tick key. It returns an empty tick for content that this package did not write.
func parseTick(text []byte) (t tick) {
	_ = json.Unmarshal(text, &t)
	return t
}

// age returns how long ago the tick was recorded. The result is never negative, although the clocks of processes may
// differ.
func (t tick) age() time.Duration { return max(0, time.Since(time.Unix(t.Recorded, 0))) }
