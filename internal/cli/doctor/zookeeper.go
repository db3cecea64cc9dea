package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// minZooKeeper is the oldest supported release.
var minZooKeeper = [3]int{3, 6, 0}

const (
	zookeeperVersion = `(?m)^Zookeeper version: ([0-9]+\.[0-9]+\.[0-9]+)`
	zookeeperMode    = `(?m)^Mode: (\S+)`
)

func zookeeperChecks(servers []string, secure *tls.Config) []check {
	return []check{{"servers", func(ctx context.Context, r *Report) error {
		for _, name := range servers {
			zookeeperServer(ctx, r, name, secure)
		}
		return nil
	}}}
}

// zookeeperServer checks the version of a server and its role in the ensemble, with the four-letter command srvr.
// A server does not answer srvr if its setting 4lw.commands.whitelist omits srvr.
func zookeeperServer(ctx context.Context, r *Report, name string, secure *tls.Config) {
	text, err := srvr(ctx, name, secure)
	if err != nil {
		r.warn("server", name+" does not report its status: "+terminal.Plain(err), "")
		return
	}
	version, mode := submatch(zookeeperVersion, text), submatch(zookeeperMode, text)
	switch {
	case strings.Contains(text, "not currently serving"):
		r.warn("server", name+" does not belong to an ensemble now", "start a majority of the servers, and check the network between them")
	case version == "":
		r.ok("connection", name+" answers, and does not report its version (4lw.commands.whitelist)")
	default:
		r.ok("connection", strings.TrimSuffix(name+" answers: ZooKeeper "+version+", "+mode, ", "))
	}
	if version != "" && olderThan(version, minZooKeeper) {
		r.problem("version", "ZooKeeper "+version+" of "+name+" is too old", "update it to ZooKeeper 3.6 or newer")
	}
	if mode == "read-only" {
		r.warn("server", name+" is cut off from the majority (read-only)", "check the network between the servers")
	}
}

func submatch(pattern, text string) string {
	if found := regexp.MustCompile(pattern).FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// srvr sends the four-letter command srvr and returns the answer.
func srvr(ctx context.Context, server string, secure *tls.Config) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout/2)
	defer cancel()
	conn, err := store.Dial(ctx, server, secure)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if end, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(end)
	}
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(conn, 64<<10))
	if err != nil && len(text) == 0 {
		return "", err
	}
	if len(text) == 0 {
		return "", errors.New("it closed the connection")
	}
	return string(text), nil
}
