package etcdlock

import (
	"context"
	"time"
)

// undated ends with the context in it, and does not say when. gRPC would tell the server, which then has a timer
// and a context for each request: that costs as much as the comparison of a release, and changes nothing,
// because a client that gives up cancels its request, and etcd has a limit of its own.
type undated struct{ context.Context }

func (undated) Deadline() (deadline time.Time, ok bool) { return deadline, false }
