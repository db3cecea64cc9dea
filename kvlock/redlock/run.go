package redlock

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// run is one run of a node's server, from its start to its end. It has scripts that the server executes only during
// this run. Their text contains the run's id, and is sent only on a connection on which the server has just reported
// that id. A restart ends all connections and empties the server's script cache. So a server that executes such a
// script by its digest has not been restarted.
type run struct {
	id                     string
	acquire, renew, admits redisbase.Script
}

func newRun(id string) *run {
	name := "local run = '" + id + "'\n"
	return &run{id, acquireScript.Behind(name), renewScript.Behind(name), admitScript.Behind(name)}
}

// ask makes calls at a node. It takes one round trip, unless the server is unknown or was restarted.
func (r *Backend) ask(ctx context.Context, n *node, client *redis.Client, calls func(*run) []redisbase.Call) ([]*redis.Cmd, error) {
	for {
		of, err := r.fit(ctx, n, client)
		if err != nil {
			return nil, err
		}
		cmds := send(ctx, client, calls(of), false)
		if !slices.ContainsFunc(cmds, func(c *redis.Cmd) bool { return redisbase.IsNoScript(c.Err()) }) {
			return cmds, nil
		}
		if cmds, err = of.vetted(ctx, client, calls(of)); err != nil || cmds != nil {
			return cmds, err
		}
		n.forget(of)
	}
}

// vetted sends the calls to the server as text. If the server has another run id, vetted sends nothing, and returns nil
// and no error.
func (of *run) vetted(ctx context.Context, client *redis.Client, calls []redisbase.Call) ([]*redis.Cmd, error) {
	conn := client.Conn() // a single connection, which does not reconnect
	defer func() { _ = conn.Close() }()
	text, err := conn.Info(ctx, "server").Result()
	if err != nil || redisbase.ParseInfo(text)["run_id"] != of.id {
		return nil, err
	}
	return send(ctx, conn, calls, true), nil
}

func send(ctx context.Context, through redis.Cmdable, calls []redisbase.Call, text bool) []*redis.Cmd {
	if len(calls) == 1 {
		return []*redis.Cmd{calls[0].Send(ctx, through, text)}
	}
	cmds := make([]*redis.Cmd, len(calls))
	_, _ = through.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, c := range calls {
			cmds[i] = c.Send(ctx, p, text)
		}
		return nil
	})
	return cmds
}
