package redislock

import (
	"embed"

	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

//go:embed lua
var files embed.FS

var (
	acquireScript      = redisbase.Load(files, "acquire").WithLists().WithRecord()
	acquireShareScript = redisbase.Load(files, "acquire_shared").WithLists().WithRecord()
	renewScript        = redisbase.Load(files, "renew").WithLists()
	releaseScript      = redisbase.Load(files, "release").WithLists().WithRecord()
	forceReleaseScript = redisbase.Load(files, "force_release").WithLists()
)

// recorded returns the keys for a script that uses one lock and the server's record.
func (b *Backend) recorded(key string) []string {
	return redisbase.Recorded(b.client, b.options.prefix, key)
}
