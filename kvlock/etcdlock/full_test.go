package etcdlock_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// A request may use up the database's space. etcd executes this request, and still answers it with an error
// (quotaApplierV3.Txn in server/etcdserver/apply). An acquisition that gets this error leaves no entry behind.
func TestNothingIsLeftInTheLastOfTheSpace(t *testing.T) {
	t.Parallel()
	s := aloneWith(t, testserver.Options{Args: []string{"--quota-backend-bytes=1000000", "--backend-batch-limit=1"}})
	client, ctx := connect(t, s.DSN), t.Context()
	b := etcdlock.New(client)
	_, err := b.Acquire(ctx, request("kept")) // opens the session while there is space
	require.NoError(t, err)
	blob := strings.Repeat("x", 100_000)
	full := false
	for round := 0; !full; round++ {
		require.Less(t, round, 1000)
		var group sync.WaitGroup
		group.Go(func() { _, _ = client.Put(ctx, "elsewhere", blob) })
		requests, errs := make([]driver.Request, 32), make([]error, 32)
		for i := range requests {
			requests[i] = request(fmt.Sprint(round, "/", i))
			group.Go(func() { _, errs[i] = b.Acquire(ctx, requests[i]) })
		}
		group.Wait()
		for i, err := range errs {
			if err == nil {
				continue
			}
			full = true
			require.True(t, driver.IsNotApplied(err), "%v", err)
			there, err := client.Get(ctx, b.Queue(requests[i].Key), clientv3.WithPrefix(), clientv3.WithCountOnly())
			require.NoError(t, err)
			require.Zero(t, there.Count)
		}
	}
}
