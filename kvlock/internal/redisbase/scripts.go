package redisbase

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
var own embed.FS

// Script is one file of Lua. It is run by its digest; a server that does not know the digest gets the text.
type Script struct {
	text, digest string
	recorded     bool // its second key is the server's record, which it can do without
}

// Load returns the script in lua/verb.lua of files.
func Load(files embed.FS, verb string) Script { return NewScript(luaFile(files, verb)) }

// LoadBehind returns the script with that of another file, which has functions for it, in front of it.
func LoadBehind(files embed.FS, verb, functions string) Script {
	return Load(files, verb).Behind(luaFile(files, functions))
}

// LoadQueued returns the script with the functions of queue.lua in front of it.
func LoadQueued(files embed.FS, verb string) Script {
	return Load(files, verb).Behind(luaFile(own, "queue"))
}

// Behind returns s with text in front of it. The line with its flags stays the first.
func (s Script) Behind(text string) Script {
	flags, rest := "", s.text
	if strings.HasPrefix(rest, "#!") {
		flags, rest, _ = strings.Cut(rest, "\n")
		flags += "\n"
	}
	return NewScript(flags + text + rest)
}

func luaFile(files embed.FS, name string) string {
	text, err := files.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

// NewScript returns a script with this text.
func NewScript(text string) Script {
	sum := sha1.Sum([]byte(text))
	return Script{text: text, digest: hex.EncodeToString(sum[:])}
}

// WithRecord says that the second key of s is the server's record.
func (s Script) WithRecord() Script {
	s.recorded = true
	return s
}

// On returns a run of s with these keys and arguments.
func (s Script) On(keys []string, args ...any) Call { return Call{s, keys, args} }

// Call is one run of a script.
type Call struct {
	Script Script
	Keys   []string
	Args   []any
}

// Send runs the script through c, by its text or by its digest. It does not repeat a call that failed.
func (c Call) Send(ctx context.Context, through redis.Scripter, text bool) *redis.Cmd {
	if text {
		return through.Eval(ctx, c.Script.text, c.Keys, c.Args...)
	}
	return through.EvalSha(ctx, c.Script.digest, c.Keys, c.Args...)
}

// alone is the call without the record, if it failed because the slot of its keys is moving: they are on two servers then. A call that did
// not fail for that reason, or that needs all of its keys, is not to be repeated.
func (c Call) alone(err error) (repeat Call, ok bool) {
	if !c.Script.recorded || len(c.Keys) < 2 || !Says(err, "TRYAGAIN") {
		return c, false
	}
	c.Keys = c.Keys[:1]
	return c, true
}

// Run makes one call.
func Run(ctx context.Context, c redis.Scripter, what Call) *redis.Cmd {
	cmd := what.Send(ctx, c, false)
	if IsNoScript(cmd.Err()) {
		cmd = what.Send(ctx, c, true)
	}
	if alone, ok := what.alone(cmd.Err()); ok {
		return Run(ctx, c, alone)
	}
	return cmd
}

// RunAll makes many calls in one trip; on a Cluster, in one a server. Each has its own outcome.
func RunAll(ctx context.Context, c redis.UniversalClient, calls []Call) []*redis.Cmd {
	cmds := make([]*redis.Cmd, len(calls))
	send := func(calls map[int]Call, text bool) {
		if len(calls) == 0 {
			return
		}
		_, _ = c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, what := range calls {
				cmds[i] = what.Send(ctx, p, text)
			}
			return nil
		})
	}
	all, unknown, apart := make(map[int]Call, len(calls)), make(map[int]Call), make(map[int]Call)
	for i, what := range calls {
		all[i] = what
	}
	send(all, false)
	for i, cmd := range cmds {
		if IsNoScript(cmd.Err()) {
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

// IsNoScript reports whether a server did not know the digest of a script.
func IsNoScript(err error) bool { return Says(err, "NOSCRIPT") }

// Says reports whether err is a server's answer that begins with word.
func Says(err error, word string) bool {
	var said redis.Error
	return errors.As(err, &said) && strings.HasPrefix(said.Error(), word)
}
