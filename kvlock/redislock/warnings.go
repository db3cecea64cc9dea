package redislock

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// warnings are what weakens the promises in the way the servers are set up.
type warnings struct {
	mu   sync.Mutex // while servers are asked at the same time
	list []string
}

func (w *warnings) add(server string, found []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, text := range found {
		w.list = append(w.list, server+" "+text)
	}
	slices.Sort(w.list)
}

// fsync is when the server has its append-only file on the disk; empty if it does not tell, as managed services do not.
func fsync(ctx context.Context, server redis.Cmdable) string {
	return server.ConfigGet(ctx, "appendfsync").Val()["appendfsync"]
}

// weaknesses says what a server may forget, and what to change.
func weaknesses(i redisbase.Info, replicated bool, fsync string) (list []string) {
	switch {
	case i["aof_enabled"] == "0":
		list = append(list, "keeps no append-only file: a restart forgets who holds what. Set appendonly yes and appendfsync always")
	case i["aof_enabled"] == "1" && fsync != "" && fsync != "always":
		list = append(list, fmt.Sprintf("writes to the disk with appendfsync %s: a crash of its machine forgets the last grants. Set appendfsync always", fsync))
	}
	if n := i["connected_slaves"]; n != "" && n != "0" && !replicated {
		list = append(list, fmt.Sprintf("has replicas (%s) that no grant waits for: a failover forgets the last grants. "+
			"Use redislock.Replicated, and set min-replicas-to-write", n))
	}
	if _, set := i["min_slaves_good_slaves"]; !set && replicated {
		list = append(list, "goes on granting, as far as it can, when it is cut off from its replicas. Set min-replicas-to-write")
	}
	if policy := i["maxmemory_policy"]; policy != "" && policy != "noeviction" {
		list = append(list, fmt.Sprintf("drops locks that are held when its memory is full (maxmemory-policy %s). Set noeviction", policy))
	}
	return list
}
