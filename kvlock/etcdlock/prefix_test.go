package etcdlock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// The prefix of one backend may begin like the keys of another backend's locks. The keys of the first backend then
// appear in no queue and no list of the other backend.
func TestAPrefixInsideAnotherIsApart(t *testing.T) {
	t.Parallel()
	client, p := connect(t, server(t)), "test-"+driver.NewNonce().String()
	outer := etcdlock.New(client, etcdlock.Prefix(p))
	locks := []struct {
		in  *etcdlock.Backend
		key driver.Key
	}{
		{outer, driver.Key{Namespace: "b", Name: "c"}},
		{outer, driver.Key{Namespace: "b", Name: "e"}},
		{etcdlock.New(client, etcdlock.Prefix(p+"/b")), driver.Key{Namespace: "c", Name: "d"}},
		{etcdlock.New(client, etcdlock.Prefix(p+"/b")), driver.Key{Namespace: "e", Name: "%-x-"}},
		{etcdlock.New(client, etcdlock.Prefix(p+"/b/c")), driver.Key{Name: "d"}},
		{etcdlock.New(client, etcdlock.Prefix(p+"/b/c")), driver.Key{Namespace: "%-x-", Name: "d"}},
		{outer, driver.Key{Namespace: "b", Name: "f"}},
		{outer, driver.Key{Name: "b/c"}},
	}
	for range 2 { // runs twice, so that the keys of each prefix exist when the other prefix is used
		grants := make([]driver.Grant, len(locks))
		for i, lock := range locks {
			r := request("")
			r.Key, r.Shared = lock.key, lock.key.Name == "e" && lock.key.Namespace == "b"
			var err error
			grants[i], err = lock.in.Acquire(t.Context(), r)
			require.NoError(t, err, lock.key)
		}
		list, err := outer.List(t.Context(), "", true)
		require.NoError(t, err)
		require.Len(t, list, 4)
		for i, lock := range locks {
			require.NoError(t, lock.in.Release(t.Context(), grants[i]))
		}
		for i, j := 0, len(locks)-1; i < j; i, j = i+1, j-1 {
			locks[i], locks[j] = locks[j], locks[i]
		}
	}
	_, err := rowlock.New(etcdlock.New(client, etcdlock.Prefix("a/%-x")))
	require.ErrorContains(t, err, "Prefix")
}
