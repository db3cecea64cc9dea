//go:build unix && !aix && !solaris

// Command backend is a small example of a backend of rowlock, for a store that needs no server. The page
// docs/backend.md builds this backend step by step. The example is not a package for import, because it is not meant
// for production.
//
//	go run ./examples/backend FOLDER NAME
//
// holds NAME for ten seconds. Run the command twice at the same time to see the second process wait for the first.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/rowlock/rowlock"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: backend FOLDER NAME")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := hold(ctx, New(os.Args[1]), os.Args[2], 10*time.Second); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hold acquires name, holds it for d, and releases it.
func hold(ctx context.Context, s *Store, name string, d time.Duration) error {
	locker, err := rowlock.New(s)
	if err != nil {
		return err
	}
	defer func() { _ = locker.Close() }()
	return locker.Do(ctx, name, func(ctx context.Context, lease *rowlock.Lease) error {
		fmt.Printf("%s: held with token %s\n", name, lease.Token())
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}
