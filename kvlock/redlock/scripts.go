package redlock

import (
	"embed"

	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

//go:embed lua
var files embed.FS

var (
	acquireScript = redisbase.Load(files, "acquire")
	confirmScript = redisbase.Load(files, "confirm")
	renewScript   = redisbase.Load(files, "renew")
	fillScript    = redisbase.Load(files, "fill")
	releaseScript = redisbase.LoadBehind(files, "release", "call")
	leaveScript   = redisbase.LoadBehind(files, "leave", "call")
	admitScript   = redisbase.Load(files, "admit")
	forceScript   = redisbase.Load(files, "force")
)
