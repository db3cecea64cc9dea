package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/rowlock/rowlock/bench/report"
)

// starts measures how long the command takes for a job that does nothing, with the default file or with a database.
// flock of util-linux is the baseline, because it also starts two programs.
func (b *bench) starts(ctx context.Context, s store) ([]report.Row, error) {
	at, err := b.world.ready(ctx, s)
	if err != nil {
		return nil, err
	}
	bin, err := b.world.command(ctx)
	if err != nil {
		return nil, err
	}
	store := []string{}
	if s.id != "sqlite" {
		store = []string{"--store", at[0]}
	}
	program := func(name string, arguments ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			cmd := exec.CommandContext(ctx, name, arguments...)
			cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+b.world.folder)
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		}
	}
	const flock = "flock of util-linux"
	return b.contest(ctx, b.plan.starts, []contender{
		{name: flock, kind: report.Floor, floor: flock, cycle: program("flock", b.world.file("flock"), "true")},
		{name: "rowlock run", kind: report.Rowlock, floor: flock, cycle: program(bin, append(append([]string{"run", "bench-start"}, store...), "--", "true")...)},
	}, nil)
}

// command builds the command rowlock as "make release" does, and returns its path. A build with cgo and with the traces
// of gRPC takes longer to start.
func (w *world) command(ctx context.Context) (string, error) {
	path, err := w.once("command", func() ([]string, func(), error) {
		path := w.file("rowlock.command")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", "grpcnotrace", "-ldflags", "-s -w", "-o", path, "./cmd/rowlock")
		build.Dir = ".."
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, nil, fmt.Errorf("build the command: %w: %s", err, out)
		}
		return []string{path}, nil, nil
	})
	if err != nil {
		return "", err
	}
	return path[0], nil
}
