package redlock

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// unfit is the error of a server that must not be a node. Its text says what to do.
type unfit struct{ err error }

func (u *unfit) Error() string { return u.err.Error() }
func (u *unfit) Unwrap() error { return u.err }

// fit returns the current run of n's server (see run). If the server is not known yet, fit first checks that the
// server may be a node.
func (r *Backend) fit(ctx context.Context, n *node, client *redis.Client) (*run, error) {
	if known := n.known(); known != nil {
		return known, nil
	}
	text, err := client.Info(ctx).Result()
	n.contacted(err == nil)
	if err != nil {
		return nil, fmt.Errorf("INFO, which shows whether the server was restarted: %w", redisbase.Classify(err))
	}
	facts := redisbase.ParseInfo(text)
	if err := refusal(facts); err != nil {
		return nil, &unfit{driver.Permanent(err)}
	}
	return r.introduce(n, newRun(facts["run_id"]))
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

// introduce records the current run of n's server. It returns an error if another node is the same server.
func (r *Backend) introduce(n *node, of *run) (*run, error) {
	r.meeting.Lock()
	defer r.meeting.Unlock()
	for _, other := range r.nodes {
		if met := other.known(); other != n && met != nil && met.id == of.id {
			return nil, &unfit{driver.Permanent(fmt.Errorf("it is the same server as %s (run_id %s)", other.addr, of.id))}
		}
	}
	n.mu.Lock()
	n.run = of
	n.mu.Unlock()
	return of, nil
}
