package testserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// redis is Redis installed on this machine, or Valkey unpacked into the cache. Both speak the same protocol.
type redis struct {
	engine string
	argv   []string // the command line
}

func (e *redis) provide(ctx context.Context, o Options) error {
	if e.engine == Redis && o.Version != "" {
		u, err := unpack(ctx, o, o.Version, "redis-server")
		if err != nil {
			return &missing{"Redis of Debian " + o.Version, "use a Debian with its package tools", err}
		}
		e.argv = u.argv("usr/bin/redis-server")
		return nil
	}
	if e.engine == Redis {
		path, err := provideWithApt(ctx, o, "Redis", "redis-server", func() string { return inPath("redis-server") })
		e.argv = []string{path}
		return err
	}
	if path := inPath("valkey-server"); path != "" {
		e.argv = []string{path}
		return nil
	}
	u, err := unpack(ctx, o, "sid", "valkey-server")
	if err != nil {
		return &missing{"Valkey", "install Valkey 8 or newer", err}
	}
	e.argv = u.argv("usr/bin/valkey-server")
	return nil
}

// inPath returns the path of a program in PATH. Unlike find, it does not resolve links:
// Redis is one program with several names, and the name decides what the program does.
func inPath(program string) string {
	path, _ := exec.LookPath(program)
	return path
}

func (e *redis) prepare(ctx context.Context, f *folder, o Options) error {
	if err := os.MkdirAll(f.data(), 0o755); err != nil || !o.Clock {
		return err
	}
	return prepareClock(ctx, f)
}

func (e *redis) command(f *folder, port int, o Options) command {
	argv := append(append([]string{}, e.argv...), "--bind", "127.0.0.1", "--port", fmt.Sprint(port), "--dir", f.data(), "--daemonize", "no", "--save", "")
	if o.Durable {
		argv = append(argv, "--appendonly", "yes", "--appendfsync", "always")
	}
	return command{argv: append(argv, o.Args...), env: clockOf(f, o)}
}

func (e *redis) dsn(port int) string { return fmt.Sprintf("redis://127.0.0.1:%d/0", port) }

// identify reads the server's folder without a client library. It sends one line, and the reply is *2 $3 dir $N and
// the path.
func (e *redis) identify(ctx context.Context, dsn string, f *folder) (bool, error) {
	addr := strings.TrimSuffix(strings.TrimPrefix(dsn, "redis://"), "/0")
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := io.WriteString(conn, "CONFIG GET dir\r\n"); err != nil {
		return false, err
	}
	answer := bufio.NewScanner(conn)
	for line := 1; answer.Scan(); line++ {
		switch text := answer.Text(); {
		case strings.HasPrefix(text, "-"):
			return false, fmt.Errorf("it answers %q", text)
		case line == 5:
			return sameFile(filepath.Clean(text), f.data()), nil
		}
	}
	return false, fmt.Errorf("the server closed the connection: %w", answer.Err())
}

func (e *redis) finish(context.Context, string) error { return nil }
