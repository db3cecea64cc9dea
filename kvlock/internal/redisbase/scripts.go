package redisbase

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

//go:embed lua
var own embed.FS

// Script is a Lua script. A request contains only its digest. If the server does not know the digest, the request is
// repeated with the script's text. The first request puts the text together, so that a program that links this package
// and does not use it starts without this work.
type Script struct {
	made     func() made
	recorded bool // the script's second key is the server's record, which the script can work without
}

// made is the text of a script, and its digest.
type made struct{ text, digest string }

func newScript(text func() string) Script {
	return Script{made: sync.OnceValue(func() made {
		text := text()
		sum := sha1.Sum([]byte(text))
		return made{text, hex.EncodeToString(sum[:])}
	})}
}

// NewScript returns a script with this text.
func NewScript(text string) Script { return newScript(func() string { return text }) }

// Load returns the script in lua/verb.lua of files.
func Load(files embed.FS, verb string) Script {
	return newScript(func() string { return luaFile(files, verb) })
}

// LoadBehind returns the script verb, with the functions of a second Lua file prepended.
func LoadBehind(files embed.FS, verb, functions string) Script {
	return Load(files, verb).behind(func() string { return luaFile(files, functions) })
}

// WithLists returns s with the functions of list.lua, queue.lua and shares.lua prepended.
func (s Script) WithLists() Script {
	return s.behind(func() string { return luaFile(own, "list") + luaFile(own, "queue") + luaFile(own, "shares") })
}

// Behind returns s with text prepended. If the first line of s sets flags (#!), that line stays the first line.
func (s Script) Behind(text string) Script { return s.behind(func() string { return text }) }

func (s Script) behind(text func() string) Script {
	return newScript(func() string {
		flags, rest := "", s.made().text
		if strings.HasPrefix(rest, "#!") {
			flags, rest, _ = strings.Cut(rest, "\n")
			flags += "\n"
		}
		return flags + text() + rest
	})
}

func luaFile(files embed.FS, name string) string {
	text, err := files.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // impossible, because the script is embedded
	}
	return string(text)
}

// WithRecord returns s as a script whose second key is the server's record.
func (s Script) WithRecord() Script {
	s.recorded = true
	return s
}

// On returns a Call that runs s with these keys and arguments.
func (s Script) On(keys []string, args ...any) Call { return Call{s, keys, args} }

// Call is one run of a script.
type Call struct {
	Script Script
	Keys   []string
	Args   []any
}

// Send sends the script through the given client, as text or by its digest. It does not retry.
func (c Call) Send(ctx context.Context, through redis.Scripter, text bool) *redis.Cmd {
	if text {
		return through.Eval(ctx, c.Script.made().text, c.Keys, c.Args...)
	}
	return through.EvalSha(ctx, c.Script.made().digest, c.Keys, c.Args...)
}

// While a slot of a Cluster moves to another server, the lock and the record can be on different servers. A call with
// both keys then fails with TRYAGAIN. If err is that error, alone returns the call without the record's key. If the
// result ok is false, do not repeat the call, because it failed for another reason, or because the script needs all
// its keys.
func (c Call) alone(err error) (repeat Call, ok bool) {
	if !c.Script.recorded || len(c.Keys) < 2 || !Says(err, "TRYAGAIN") {
		return c, false
	}
	c.Keys = c.Keys[:1]
	return c, true
}

// Run makes one call. If the server does not know the script, Run sends the text of the script. If the slot of the key
// is moving to another server, Run repeats the call without the key of the server's record.
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

// RunAll makes many calls in one round trip, or, on a Cluster, one to each server. Each call has its own outcome.
func RunAll(ctx context.Context, c redis.UniversalClient, calls []Call) []*redis.Cmd {
	cmds := make([]*redis.Cmd, len(calls))
	// send makes the calls that are necessary after the previous replies.
	send := func(text bool, necessary func(i int, previous error) bool) {
		var some []int
		for i, cmd := range cmds {
			if cmd == nil || necessary(i, cmd.Err()) {
				some = append(some, i)
			}
		}
		if len(some) == 0 {
			return
		}
		_, _ = c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, i := range some {
				cmds[i] = calls[i].Send(ctx, p, text)
			}
			return nil
		})
	}
	send(false, nil)
	send(true, func(_ int, previous error) bool { return IsNoScript(previous) })
	calls = slices.Clone(calls)
	send(true, func(i int, previous error) (ok bool) {
		calls[i], ok = calls[i].alone(previous)
		return ok
	})
	return cmds
}

// IsNoScript reports whether a server did not know the digest of a script.
func IsNoScript(err error) bool { return Says(err, "NOSCRIPT") }

// Says reports whether err is a server's error that begins with word.
func Says(err error, word string) bool {
	var said redis.Error
	return errors.As(err, &said) && strings.HasPrefix(said.Error(), word)
}
