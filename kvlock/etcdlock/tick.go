package etcdlock

import (
	"encoding/json"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
)

// tick is the content of a lock's tick key. [driver.Grant].Done explains ticks. The key belongs to no lease, so it
// outlives every session.
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

// recorded returns the operation that reads the tick of a lock. The function tickOf decodes its reply.
func (b *Backend) recorded(key driver.Key) clientv3.Op { return clientv3.OpGet(b.tickKey(key)) }

// tickOf decodes the reply of operation n, which reads a tick.
func tickOf(reply *clientv3.TxnResponse, n int) (t tick) {
	if kvs := reply.Responses[n].GetResponseRange().Kvs; len(kvs) > 0 {
		t = parseTick(kvs[0].Value)
	}
	return t
}

// parseTick decodes the content of a tick key. It returns an empty tick for content that this package did not write.
func parseTick(text []byte) (t tick) {
	_ = json.Unmarshal(text, &t)
	return t
}

// age returns how long ago the tick was recorded. The result is never negative, although the clocks of processes may
// differ.
func (t tick) age() time.Duration { return max(0, time.Since(time.Unix(t.Recorded, 0))) }
