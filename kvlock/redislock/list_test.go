package redislock_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
)

// Scripts with random changes, some of them saved in several steps, leave the list that a slice predicts.
func TestList(t *testing.T) {
	t.Parallel()
	c := redistest.Connect(t, redistest.Start(t).Addr)
	script := redisbase.NewScript(`
		local list = linked_list(KEYS[1], 'list', 'e:', redis.call('HMGET', KEYS[1], 'list')[1])
		for i = 1, #ARGV, 4 do
			list[ARGV[i]](unpack(ARGV, i + 1, ARGV[i] == 'save' and i or i + 3))
		end
		list.save()
		return list.count`).WithLists()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same steps in each run
	var ids, values []string
	for run := range 1000 {
		var args []any
		for step := range 1 + random.IntN(6) {
			id := strconv.Itoa(random.IntN(5))
			i := slices.Index(ids, id)
			switch {
			case random.IntN(4) == 0:
				args = append(args, "save", "", "", "")
			case i >= 0 || random.IntN(4) == 0:
				args = append(args, "drop", id, "", "")
				if i >= 0 {
					ids, values = slices.Delete(ids, i, i+1), slices.Delete(values, i, i+1)
				}
			default:
				at, before, value := random.IntN(len(ids)+1), "-", fmt.Sprintf("%d.%d", run, step)
				if at > 0 {
					before = ids[at-1]
				}
				args = append(args, "insert", before, id, value)
				ids, values = slices.Insert(ids, at, id), slices.Insert(values, at, value)
			}
		}
		count, err := redisbase.Run(t.Context(), c, script.On([]string{"key"}, args...)).Int()
		require.NoError(t, err)
		require.Equal(t, len(ids), count)
		gotIDs, gotValues := listed(t, c.HGetAll(t.Context(), "key").Val(), "list", "e:")
		require.Equal(t, fmt.Sprint(ids, values), fmt.Sprint(gotIDs, gotValues), "after %v", args)
	}
}
