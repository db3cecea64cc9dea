// Command prometheus is a worker that serves the metrics of its locks to Prometheus. The alerts and the dashboard of
// docs/observability use these metrics.
package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/memlock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, "localhost:9464"); err != nil {
		log.Fatal(err)
	}
}

// run does a job every few seconds until ctx ends.
func run(ctx context.Context, address string) error {
	locker, metrics, err := observed(memlock.New()) // sqllock.Postgres(db), …
	if err != nil {
		return err
	}
	defer locker.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	mux := http.NewServeMux()
	mux.Handle("/metrics", metrics)
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	go work(ctx, locker)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func work(ctx context.Context, locker *rowlock.Locker) {
	for ctx.Err() == nil {
		err := locker.Do(ctx, "report", func(ctx context.Context, _ *rowlock.Lease) error {
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Second):
			}
			return ctx.Err()
		})
		if err != nil && ctx.Err() == nil {
			log.Print(err)
			time.Sleep(time.Second)
		}
	}
}
