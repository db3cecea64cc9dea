package redlock

import (
	"embed"

	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

//go:embed lua
var files embed.FS

var (
	acquireScript = redisbase.LoadQueued(files, "acquire")
	confirmScript = redisbase.Load(files, "confirm")
	renewScript   = redisbase.Load(files, "renew")
	fillScript    = redisbase.Load(files, "fill")
	releaseScript = redisbase.LoadQueued(files, "release")
	leaveScript   = redisbase.LoadQueued(files, "leave")
	admitScript   = redisbase.Load(files, "admit")
	forceScript   = redisbase.Load(files, "force")
)
