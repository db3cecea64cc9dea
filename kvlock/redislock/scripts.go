package redislock

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed lua
var luaFiles embed.FS

// script is one file of lua, run by its digest; a server that does not know the digest gets the text.
type script struct {
	text, digest string
	recorded     bool // its second key is the server's record, which it can do without
}

func load(verb string) script { return newScript(luaFile(verb)) }

// loadQueued has the functions of queue.lua in front of the script, behind the line with its flags.
func loadQueued(verb string) script {
	text, flags := luaFile(verb), ""
	if strings.HasPrefix(text, "#!") {
		flags, text, _ = strings.Cut(text, "\n")
		flags += "\n"
	}
	return newScript(flags + luaFile("queue") + text)
}

func luaFile(name string) string {
	text, err := luaFiles.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

func newScript(text string) script {
	sum := sha1.Sum([]byte(text))
	return script{text: text, digest: hex.EncodeToString(sum[:])}
}

// withRecord says that the second key of s is the server's record.
func (s script) withRecord() script {
	s.recorded = true
	return s
}

var (
	acquireScript      = loadQueued("acquire").withRecord()
	renewScript        = load("renew")
	releaseScript      = loadQueued("release").withRecord()
	inspectScript      = load("inspect")
	forceReleaseScript = load("force_release")
	pruneScript        = load("prune").withRecord()

	redlockAcquireScript = loadQueued("redlock_acquire")
	redlockConfirmScript = load("redlock_confirm")
	redlockRenewScript   = load("redlock_renew")
	redlockFillScript    = load("redlock_fill")
	redlockReleaseScript = loadQueued("redlock_release")
	redlockLeaveScript   = loadQueued("redlock_leave")
	redlockAdmitScript   = load("redlock_admit")
	redlockForceScript   = load("redlock_force")
)

// call is one run of a script.
type call struct {
	script script
	keys   []string
	args   []any
}

// alone is the call without the record, if it failed because the slot of its keys is moving: they are on two servers then. A call that did
// not fail for that reason, or that needs all of its keys, is not to be repeated.
func (c call) alone(err error) (repeat call, ok bool) {
	if !c.script.recorded || len(c.keys) < 2 || !says(err, "TRYAGAIN") {
		return c, false
	}
	c.keys = c.keys[:1]
	return c, true
}

// run makes one call.
func run(ctx context.Context, c redis.Scripter, what call) *redis.Cmd {
	cmd := c.EvalSha(ctx, what.script.digest, what.keys, what.args...)
	if isNoScript(cmd.Err()) {
		cmd = c.Eval(ctx, what.script.text, what.keys, what.args...)
	}
	if alone, ok := what.alone(cmd.Err()); ok {
		return run(ctx, c, alone)
	}
	return cmd
}

// runAll makes many calls in one trip; on a Cluster, in one a server. Each has its own outcome.
func runAll(ctx context.Context, c redis.UniversalClient, calls []call) []*redis.Cmd {
	cmds := make([]*redis.Cmd, len(calls))
	send := func(calls map[int]call, text bool) {
		if len(calls) == 0 {
			return
		}
		_, _ = c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, what := range calls {
				if text {
					cmds[i] = p.Eval(ctx, what.script.text, what.keys, what.args...)
				} else {
					cmds[i] = p.EvalSha(ctx, what.script.digest, what.keys, what.args...)
				}
			}
			return nil
		})
	}
	all, unknown, apart := make(map[int]call, len(calls)), make(map[int]call), make(map[int]call)
	for i, what := range calls {
		all[i] = what
	}
	send(all, false)
	for i, cmd := range cmds {
		if isNoScript(cmd.Err()) {
			unknown[i] = calls[i]
		}
	}
	send(unknown, true)
	for i, cmd := range cmds {
		if alone, ok := calls[i].alone(cmd.Err()); ok {
			apart[i] = alone
		}
	}
	send(apart, true)
	return cmds
}

func isNoScript(err error) bool { return says(err, "NOSCRIPT") }

// says reports whether err is a server's answer that begins with word.
func says(err error, word string) bool {
	var said redis.Error
	return errors.As(err, &said) && strings.HasPrefix(said.Error(), word)
}
