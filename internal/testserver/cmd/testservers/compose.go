package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rowlock/rowlock/internal/testserver"
)

var errNoDocker = errors.New("no Docker engine with compose is available")

// compose starts services of the repository's docker-compose.yml, for servers that are not available otherwise. The
// compose project has a separate name and uses any free ports, so that it does not conflict with the services that a
// developer keeps running.
type compose struct {
	mu      sync.Mutex
	checked bool
	file    string // empty if docker compose is not available
	used    bool
}

// up returns the DSN of the engine's service, and the DSNs of the services that the engine needs.
func (c *compose) up(ctx context.Context, engine string) (map[string]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.checked {
		c.checked, c.file = true, findCompose(ctx)
	}
	if c.file == "" {
		return nil, errNoDocker
	}
	// etcd needs no container, because it is built with Go, which the tests need anyway.
	// The compose file has no service for a newer PgBouncer.
	if engine == testserver.Etcd || engine == testserver.NewPgBouncer {
		return nil, errNoDocker
	}
	services := []string{engine}
	if engine == testserver.PgBouncer { // the PgBouncer service can only reach the Postgres of the same compose file
		if os.Getenv(testserver.Variable(testserver.Postgres)) != "" {
			return nil, fmt.Errorf("%s is set, but the container can only reach the server of its own compose project", testserver.Variable(testserver.Postgres))
		}
		services = append(services, testserver.Postgres)
	}
	say("%s: starting a container", engine)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	c.used = true
	if _, err := c.run(ctx, append([]string{"up", "--detach", "--wait"}, services...)...); err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, s := range services {
		port, format := "5432", "postgres://postgres@%s/postgres?sslmode=disable"
		switch s {
		case testserver.PgBouncer:
			port = "6432"
		case testserver.MySQL, testserver.MariaDB:
			port, format = "3306", "root@tcp(%s)/rowlock"
		case testserver.Redis, testserver.Valkey:
			port, format = "6379", "redis://%s/0"
		case testserver.ZooKeeper:
			port, format = "2181", "%s"
		}
		addr, err := c.run(ctx, "port", s, port)
		if err != nil {
			return nil, err
		}
		found[s] = fmt.Sprintf(format, addr)
	}
	return found, nil
}

func (c *compose) down() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.used {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := c.run(ctx, "down", "--volumes", "--timeout", "1"); err != nil {
		say("%v", err)
	}
}

func (c *compose) run(ctx context.Context, args ...string) (string, error) {
	args = append([]string{"compose", "--file", c.file, "--project-name", fmt.Sprintf("rowlock-test-%d", os.Getpid())}, args...)
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Env = os.Environ()
	for _, e := range testserver.Engines {
		cmd.Env = append(cmd.Env, "ROWLOCK_PORT_"+strings.ToUpper(e)+"=") // empty: docker chooses a free port
	}
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("docker %s: %w\n%s", strings.Join(args, " "), err, problem.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// findCompose returns the compose file above the working folder, if a container engine is available.
func findCompose(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if exec.CommandContext(ctx, "docker", "info").Run() != nil || exec.CommandContext(ctx, "docker", "compose", "version").Run() != nil {
		return ""
	}
	folder, err := os.Getwd()
	for err == nil {
		file := filepath.Join(folder, "docker-compose.yml")
		if _, err := os.Stat(file); err == nil {
			return file
		}
		if folder == filepath.Dir(folder) {
			break
		}
		folder = filepath.Dir(folder)
	}
	return ""
}
