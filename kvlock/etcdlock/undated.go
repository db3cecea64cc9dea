package etcdlock

import (
	"context"
	"time"
)

// undated is a context that hides its deadline but ends with its parent. gRPC would send the deadline to the server,
// which would then keep a timer and a context for each request. That would cost the server as much as the comparison in
// a release. The server does not need the deadline: a client that gives up cancels its request, and etcd limits each
// request itself.
type undated struct{ context.Context }

func (undated) Deadline() (deadline time.Time, ok bool) { return deadline, false }
