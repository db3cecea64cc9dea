package doctor

import (
	"context"
	_ "embed" // for the script
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

//go:embed lua/may.lua
var mayOnRedis string

// redisChecks returns the checks of one server, or of each primary of a Cluster. The backend of the library also checks
// its store. The function inspection returns a check that reports what the backend finds.
func redisChecks(client redis.UniversalClient, prefix string) []check {
	return []check{
		{"server", func(ctx context.Context, r *Report) error {
			if err := client.Ping(ctx).Err(); err != nil && !strings.HasPrefix(err.Error(), "NOPERM") {
				r.unreachable(err)
				return nil
			}
			return eachPrimary(ctx, client, func(ctx context.Context, name string, server *redis.Client) error {
				return redisServer(ctx, r, name, server)
			})
		}},
		{"privileges", func(ctx context.Context, r *Report) error { return redisPrivileges(ctx, r, client, prefix, "redis") }},
	}
}

// eachPrimary calls the function do for the server, or for each primary of a Cluster, one after the other.
func eachPrimary(ctx context.Context, client redis.UniversalClient, do func(context.Context, string, *redis.Client) error) error {
	switch c := client.(type) {
	case *redis.Client:
		return do(ctx, c.Options().Addr, c)
	case *redis.ClusterClient:
		var one sync.Mutex
		return c.ForEachMaster(ctx, func(ctx context.Context, primary *redis.Client) error {
			one.Lock()
			defer one.Unlock()
			return do(ctx, primary.Options().Addr, primary)
		})
	default:
		return nil
	}
}

func redisServer(ctx context.Context, r *Report, name string, server *redis.Client) error {
	facts := server.InfoMap(ctx, "server").Val()["Server"]
	product := "Redis " + facts["redis_version"]
	if v := facts["valkey_version"]; v != "" {
		product = "Valkey " + v
	}
	r.ok("connection", name+" answers: "+strings.TrimSpace(product))
	return clockCheck(name, func(ctx context.Context) (time.Time, error) { return server.Time(ctx).Result() }).run(ctx, r)
}

// redisPrivileges asks the server which commands that a lock needs this user may not run (acl_check_cmd, since Redis 7).
// The parameter store is redis or redlock.
func redisPrivileges(ctx context.Context, r *Report, client redis.UniversalClient, prefix, store string) error {
	missing, err := client.Eval(ctx, mayOnRedis, []string{prefix + ":doctor"}, store).StringSlice()
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "NOPERM"):
		r.problem("privileges", "this user may not run scripts (EVAL) on the keys "+prefix+"*: "+terminal.Plain(err), "ACL SETUSER … ~"+prefix+"* +eval +evalsha")
	case err != nil:
		return err
	case len(missing) > 0:
		r.problem("privileges", "this user may not "+strings.ToUpper(strings.Join(missing, ", ")), "ACL SETUSER … +"+strings.Join(missing, " +"))
	default:
		r.ok("privileges", "this user has all privileges that a lock needs")
	}
	return nil
}

// redlockChecks returns the checks of each Redlock node. These checks do not require that the nodes keep data on disk,
// because a node that has lost its data does not vote.
func redlockChecks(nodes []*redis.Client, prefix string) []check {
	return []check{{"nodes", func(ctx context.Context, r *Report) error {
		reached, ids := 0, map[string]string{}
		for _, node := range nodes {
			name := node.Options().Addr
			bounded, cancel := context.WithTimeout(ctx, checkTimeout/time.Duration(len(nodes)))
			_, err := redislock.New(node, redislock.Prefix(prefix)).Inspect(bounded, driver.Key{Name: "doctor"})
			cancel()
			if err != nil && !driver.IsPermanent(err) {
				r.warn("node", name+" does not answer: "+terminal.Plain(err), "restart it; it votes again once all grants that it may have lost have expired")
				continue
			}
			if err := redisPrivileges(ctx, r, node, prefix, "redlock"); err != nil {
				return err
			}
			if err != nil {
				r.problem("node", name+": "+terminal.Plain(err), "")
				continue
			}
			reached++
			id := node.InfoMap(ctx, "server").Item("Server", "run_id")
			if other := ids[id]; id != "" && other != "" {
				r.problem("node", name+" and "+other+" are one server", "name independent servers in --store")
			}
			ids[id] = name
			if err := redisServer(ctx, r, name, node); err != nil {
				return err
			}
		}
		if 2*reached <= len(nodes) {
			r.unreachable(fmt.Errorf("%d of %d nodes answer; a majority is needed", reached, len(nodes)))
		}
		return nil
	}}}
}
