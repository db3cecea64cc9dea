package redlock

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// node is one server of a backend.
type node struct {
	client *redis.Client
	addr   string
	wakes  *redisbase.Subscriber

	mu      sync.Mutex
	bounded *redis.Client // the client that the method within returned last
	limit   time.Duration // requests of the client in the field bounded time out after this time
	run     *run          // nil while the server is unknown
	why     error         // why the server is unknown
	turns   map[driver.Key]*turn
}

// newNode makes a node. The parameter own is the channel on which the node's server notifies this process.
func newNode(client *redis.Client, own string) *node {
	return &node{client: client, addr: client.Options().Addr, wakes: redisbase.NewSubscriber(client, own), why: errSilent, turns: make(map[driver.Key]*turn)}
}

var errSilent = driver.NotApplied(errors.New("it has not answered yet, and is being contacted in the background"))

// unfit is the error of a server that must not be a node. Its text says what to do.
type unfit struct{ error }

func (u unfit) Unwrap() error { return u.error }

// run is one run of a node's server, from its start to its end. It has scripts that the server executes only during
// this run. Their text contains the run's id, and is sent only on a connection on which the server has just reported
// that id. A restart ends all connections and empties the server's script cache. So a server that executes such a
// script by its digest has not been restarted.
type run struct {
	id                    string
	acquire, renew, admit redisbase.Script
}

func newRun(id string) *run {
	name := "local run = '" + id + "'\n"
	return &run{id, acquireScript.Behind(name), renewScript.Behind(name), admitScript.Behind(name)}
}

// known returns the run of the server, or the reason why the server is unknown.
func (n *node) known() (*run, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.run, n.why
}

// misfit returns the error of a server that must not be a node, or nil if there is no such server.
func (r *Backend) misfit() error {
	for _, n := range r.nodes {
		var u unfit
		if _, why := n.known(); errors.As(why, &u) {
			return fmt.Errorf("node %s: %w", n.addr, why)
		}
	}
	return nil
}

func (n *node) isUnknown() bool {
	of, _ := n.known()
	return of == nil
}

func (n *node) set(of *run, why error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.run, n.why = of, why
}

// within returns a client whose requests time out after limit, whatever the timeouts of the caller's client are. Both
// clients share one connection pool.
func (n *node) within(limit time.Duration) *redis.Client {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.bounded == nil || n.limit != limit {
		n.bounded, n.limit = n.client.WithTimeout(limit), limit
	}
	return n.bounded
}

// fit checks that n's server may be a node, and records its current run.
func (r *Backend) fit(ctx context.Context, n *node, client *redis.Client) (*run, error) {
	text, err := client.Info(ctx).Result()
	if err != nil {
		n.set(nil, errSilent)
		return nil, fmt.Errorf("INFO, which shows whether the server was restarted: %w", redisbase.Classify(err))
	}
	facts := redisbase.ParseInfo(text)
	r.checking.Lock()
	defer r.checking.Unlock()
	err = refusal(facts)
	for _, other := range r.nodes {
		if of, _ := other.known(); err == nil && other != n && of != nil && of.id == facts["run_id"] {
			err = fmt.Errorf("it is the same server as %s (run_id %s)", other.addr, of.id)
		}
	}
	if err != nil {
		err = unfit{driver.Permanent(err)}
		n.set(nil, err)
		return nil, err
	}
	of := newRun(facts["run_id"])
	n.set(of, nil)
	return of, nil
}

var runID = regexp.MustCompile(`^[0-9A-Za-z]+$`)

func refusal(i redisbase.Info) error {
	switch policy := i["maxmemory_policy"]; {
	case i["run_id"] == "":
		return errors.New("the server does not report its run_id, which shows whether it was restarted")
	case !runID.MatchString(i["run_id"]): // the id must be checked, because the function newRun inserts it into the text of scripts
		return fmt.Errorf("the server's run_id is %q: want letters and digits", i["run_id"])
	case policy != "" && policy != "noeviction":
		return fmt.Errorf("the server's maxmemory-policy is %s, which evicts held locks when its memory is full: set it to noeviction", policy)
	case i["role"] != "" && i["role"] != "master":
		return errors.New("the server is a replica: a node must be an independent server")
	case i["cluster_enabled"] == "1":
		return errors.New("the server is part of a Cluster: a node must be an independent server")
	}
	return i.Refusal(false, false)
}

// send makes calls at a node whose server is known. It takes one round trip, unless the server was restarted.
func (r *Backend) send(ctx context.Context, n *node, client *redis.Client, calls func(*run) []redisbase.Call) ([]*redis.Cmd, error) {
	for {
		of, err := n.known()
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
		if _, err := r.fit(ctx, n, client); err != nil {
			return nil, err
		}
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
