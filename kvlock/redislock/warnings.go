package redislock

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// warnings collects the settings of the servers that weaken the guarantees.
type warnings struct {
	mu   sync.Mutex // several servers are checked at the same time
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

// fsync returns the server's appendfsync setting. It returns an empty text if the server does not permit CONFIG GET,
// as is usual for managed services.
func fsync(ctx context.Context, server redis.Cmdable) string {
	return server.ConfigGet(ctx, "appendfsync").Val()["appendfsync"]
}

// weaknesses returns a text for each setting with which a server may lose locks. Each text says what to change.
func weaknesses(i redisbase.Info, replicated bool, fsync string) (list []string) {
	switch {
	case i["aof_enabled"] == "0":
		list = append(list, "keeps no append-only file: a restart loses all locks. Set appendonly yes and appendfsync always")
	case i["aof_enabled"] == "1" && fsync != "" && fsync != "always":
		list = append(list, fmt.Sprintf("writes to the disk with appendfsync %s: a crash of its host loses the last grants. Set appendfsync always", fsync))
	}
	if n := i["connected_slaves"]; n != "" && n != "0" && !replicated {
		list = append(list, fmt.Sprintf("has replicas (%s) that no grant waits for: a failover loses the last grants. "+
			"Use redislock.Replicated, and set min-replicas-to-write", n))
	}
	if _, set := i["min_slaves_good_slaves"]; !set && replicated {
		list = append(list, "continues to grant while it is cut off from its replicas. Set min-replicas-to-write")
	}
	if policy := i["maxmemory_policy"]; policy != "" && policy != "noeviction" {
		list = append(list, fmt.Sprintf("evicts held locks when its memory is full (maxmemory-policy %s). Set noeviction", policy))
	}
	return list
}
