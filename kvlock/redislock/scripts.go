package redislock

import (
	"embed"

	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

//go:embed lua
var files embed.FS

var (
	acquireScript      = redisbase.LoadQueued(files, "acquire").WithRecord()
	renewScript        = redisbase.Load(files, "renew")
	releaseScript      = redisbase.LoadQueued(files, "release").WithRecord()
	forceReleaseScript = redisbase.Load(files, "force_release")
)

// recorded returns the keys for a script that uses one lock and the server's record.
func (b *Backend) recorded(key string) []string {
	return redisbase.Recorded(b.client, b.options.prefix, key)
}
