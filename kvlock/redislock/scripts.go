package redislock

import (
	"embed"

	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

//go:embed lua
var files embed.FS

var (
	acquireScript      = redisbase.LoadQueued(files, "acquire").WithShares().WithRecord()
	acquireShareScript = redisbase.LoadQueued(files, "acquire_shared").WithShares().WithRecord()
	renewScript        = redisbase.Load(files, "renew").WithShares()
	releaseScript      = redisbase.LoadQueued(files, "release").WithShares().WithRecord()
	forceReleaseScript = redisbase.Load(files, "force_release").WithShares()
)

// recorded returns the keys for a script that uses one lock and the server's record.
func (b *Backend) recorded(key string) []string {
	return redisbase.Recorded(b.client, b.options.prefix, key)
}
