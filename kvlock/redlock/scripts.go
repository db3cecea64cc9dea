package redlock

import (
	"embed"

	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

//go:embed lua
var files embed.FS

var (
	acquireScript = redisbase.LoadBehind(files, "acquire", "waiters")
	renewScript   = redisbase.Load(files, "renew")
	releaseScript = redisbase.LoadBehind(files, "release", "waiters")
	leaveScript   = redisbase.LoadBehind(files, "leave", "waiters")
	admitScript   = redisbase.Load(files, "admit")
	forceScript   = redisbase.Load(files, "force")
)
