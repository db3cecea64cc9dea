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
type script struct{ text, digest string }

func load(verb string) script {
	text, err := luaFiles.ReadFile("lua/" + verb + ".lua")
	if err != nil {
		panic(err) // it is embedded
	}
	return newScript(string(text))
}

func newScript(text string) script {
	sum := sha1.Sum([]byte(text))
	return script{text, hex.EncodeToString(sum[:])}
}

var (
	acquireScript      = load("acquire")
	renewScript        = load("renew")
	releaseScript      = load("release")
	inspectScript      = load("inspect")
	forceReleaseScript = load("force_release")
	pruneScript        = load("prune")

	redlockAcquireScript = load("redlock_acquire")
	redlockConfirmScript = load("redlock_confirm")
	redlockRenewScript   = load("redlock_renew")
	redlockFillScript    = load("redlock_fill")
	redlockReleaseScript = load("redlock_release")
	redlockLeaveScript   = load("redlock_leave")
	redlockAdmitScript   = load("redlock_admit")
	redlockForceScript   = load("redlock_force")
)

// call is one run of a script.
type call struct {
	script script
	keys   []string
	args   []any
}

// run makes one call.
func run(ctx context.Context, c redis.Scripter, what call) *redis.Cmd {
	cmd := c.EvalSha(ctx, what.script.digest, what.keys, what.args...)
	if isNoScript(cmd.Err()) {
		return c.Eval(ctx, what.script.text, what.keys, what.args...)
	}
	return cmd
}

// runAll makes many calls in one trip; on a Cluster, in one a server. Each has its own outcome.
func runAll(ctx context.Context, c redis.UniversalClient, calls []call) []*redis.Cmd {
	cmds := make([]*redis.Cmd, len(calls))
	_, _ = c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, what := range calls {
			cmds[i] = p.EvalSha(ctx, what.script.digest, what.keys, what.args...)
		}
		return nil
	})
	var unknown []int
	for i, cmd := range cmds {
		if isNoScript(cmd.Err()) {
			unknown = append(unknown, i)
		}
	}
	if len(unknown) == 0 {
		return cmds
	}
	_, _ = c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, i := range unknown {
			cmds[i] = p.Eval(ctx, calls[i].script.text, calls[i].keys, calls[i].args...)
		}
		return nil
	})
	return cmds
}

func isNoScript(err error) bool { return says(err, "NOSCRIPT") }

// says reports whether err is a server's answer that begins with word.
func says(err error, word string) bool {
	var said redis.Error
	return errors.As(err, &said) && strings.HasPrefix(said.Error(), word)
}
