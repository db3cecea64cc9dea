package etcdlock

import (
	"context"
	"time"
)

// undated is a context that hides its deadline but ends with its parent. gRPC would send the deadline to the server.
// The server would then make a timer and a context for each request, which takes as long as the comparison in a
// release. The server does not need the deadline, because a client that gives up cancels its request, and etcd has its
// own limit for each request.
type undated struct{ context.Context }

func (undated) Deadline() (deadline time.Time, ok bool) { return deadline, false }
