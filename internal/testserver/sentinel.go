package testserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// sentinel is a single Redis Sentinel with a quorum of one. It fails over when it considers the primary dead.
type sentinel struct{ redis }

func (f *folder) config() string { return filepath.Join(f.path, "sentinel.conf") }

// prepare writes the configuration, which Sentinel later changes itself. Sentinel considers a server dead after two
// seconds of silence. On a loaded machine, a server may be silent for half a second.
func (e *sentinel) prepare(ctx context.Context, f *folder, o Options) error {
	host, port, err := net.SplitHostPort(o.Primary)
	if err != nil {
		return fmt.Errorf("Options.Primary %q: %w", o.Primary, err)
	}
	if err := e.redis.prepare(ctx, f, Options{}); err != nil {
		return err
	}
	config := fmt.Sprintf("sentinel monitor %[1]s %[2]s %[3]s 1\nsentinel down-after-milliseconds %[1]s 2000\nsentinel failover-timeout %[1]s 5000\n",
		SentinelMaster, host, port)
	return os.WriteFile(f.config(), []byte(config), 0o644)
}

func (e *sentinel) command(f *folder, port int, o Options) command {
	argv := append(append([]string{}, e.argv...), f.config(), "--sentinel", "--bind", "127.0.0.1", "--port", fmt.Sprint(port), "--dir", f.data())
	return command{argv: append(argv, o.Args...)}
}

// identify sends INFO and checks that the server uses the configuration file that prepare wrote.
func (e *sentinel) identify(ctx context.Context, dsn string, f *folder) (bool, error) {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", strings.TrimSuffix(strings.TrimPrefix(dsn, "redis://"), "/0"))
	if err != nil {
		return false, err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := io.WriteString(conn, "INFO server\r\n"); err != nil {
		return false, err
	}
	answer := bufio.NewScanner(conn)
	for answer.Scan() {
		if path, ok := strings.CutPrefix(answer.Text(), "config_file:"); ok {
			return sameFile(path, f.config()), nil
		}
	}
	return false, fmt.Errorf("the server closed the connection: %w", answer.Err())
}
