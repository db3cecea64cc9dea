// Command testservers starts real database servers, runs a command, and stops the servers:
//
//	go run ./internal/testserver/cmd/testservers -- go test ./...
//
// Each server serves only this run, and is stopped when the run ends. The command finds them through
// ROWLOCK_TEST_POSTGRES, ROWLOCK_TEST_PGBOUNCER, ROWLOCK_TEST_PGBOUNCER_NEW, ROWLOCK_TEST_MYSQL, ROWLOCK_TEST_MARIADB,
// ROWLOCK_TEST_REDIS, ROWLOCK_TEST_VALKEY, ROWLOCK_TEST_ETCD and ROWLOCK_TEST_ZOOKEEPER. If such a variable is already
// set, the command gets it unchanged, and testservers starts no server for it. Without a command the servers run until
// Ctrl-C, and their variables are printed for a shell.
//
// If this machine cannot provide a server, testservers says so and runs the command without that server. With
// ROWLOCK_REQUIRE=all it fails instead.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/rowlock/rowlock/internal/testserver"
)

func main() { os.Exit(run()) }

func run() int {
	names := flag.String("engines", strings.Join(testserver.Engines, ","), "the servers to provide")
	durable := flag.Bool("durable", false, "let each commit wait for the disk, as in production; for benchmarks")
	flag.Parse()
	engines := strings.Split(*names, ",")
	for _, e := range engines {
		if !slices.Contains(testserver.Engines, e) {
			say("no engine %q; there are %s", e, strings.Join(testserver.Engines, ", "))
			return 2
		}
	}

	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go watchParent(signals)

	s := &servers{durable: *durable, dsn: map[string]string{}}
	defer s.stop()
	if stopped := s.startUnless(signals, engines); stopped {
		return 130
	}
	if s.failed && os.Getenv("ROWLOCK_REQUIRE") == "all" {
		say("ROWLOCK_REQUIRE=all: not every server is available, so the command is not run")
		return 1
	}
	if flag.NArg() == 0 {
		for _, variable := range s.environment() {
			fmt.Printf("export %s\n", quote(variable))
		}
		say("running until Ctrl-C")
		<-signals
		return 0
	}
	return runCommand(flag.Args(), s.environment(), signals)
}

// startUnless starts the servers, and reports whether a signal arrived before all were ready.
func (s *servers) startUnless(signals <-chan os.Signal, engines []string) bool {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan struct{})
	go func() { defer close(done); s.start(ctx, engines) }()
	select {
	case <-done:
		return false
	case <-signals:
		cancel()
		<-done
		return true
	}
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "testservers: "+format+"\n", args...) }

// quote makes NAME=value safe for a shell.
func quote(variable string) string {
	name, value, _ := strings.Cut(variable, "=")
	return name + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}
