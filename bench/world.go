package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/rowlock/rowlock/internal/testserver"
)

// world provides the servers: those from the environment, and those that the benchmark starts
// when they are first needed.
type world struct {
	folder string

	mu    sync.Mutex
	got   map[string]func() ([]string, error)
	stops []func()
}

func newWorld() (*world, error) {
	folder, err := os.MkdirTemp("", "rowlock-bench")
	return &world{folder: folder, got: map[string]func() ([]string, error){}}, err
}

func (w *world) close() {
	for _, stop := range w.stops {
		stop()
	}
	_ = os.RemoveAll(w.folder)
}

// once calls the function start at the first call with a key, and keeps the result for later calls. Concurrent callers
// with the same key wait for the result. Callers with other keys do not wait.
func (w *world) once(key string, start func() ([]string, func(), error)) ([]string, error) {
	w.mu.Lock()
	get, ok := w.got[key]
	if !ok {
		get = sync.OnceValues(func() ([]string, error) {
			at, stop, err := start()
			w.mu.Lock()
			defer w.mu.Unlock()
			if stop != nil && err == nil {
				w.stops = append(w.stops, stop)
			}
			return at, err
		})
		w.got[key] = get
	}
	w.mu.Unlock()
	return get()
}

// ready creates the tables of a store, and returns the store's addresses.
func (w *world) ready(ctx context.Context, s store) ([]string, error) {
	at, err := s.serve(ctx, w)
	if err != nil {
		return nil, err
	}
	return w.once("prepared "+s.id+" "+at[0], func() ([]string, func(), error) {
		if s.prepare == nil {
			return at, nil, nil
		}
		return at, nil, s.prepare(ctx, at)
	})
}

// errMissing reports that no server of a store is available. The store is then omitted, unless ROWLOCK_REQUIRE=all.
var errMissing = errors.New("there is no server")

// environment returns the address of a server from the environment.
func environment(engine string) func(context.Context, *world) ([]string, error) {
	return func(context.Context, *world) ([]string, error) {
		at := os.Getenv(testserver.Variable(engine))
		if at == "" {
			return nil, fmt.Errorf("%w: %s is not set", errMissing, testserver.Variable(engine))
		}
		return []string{at}, nil
	}
}

// started starts n independent servers.
func (w *world) started(ctx context.Context, key, engine string, n int, o testserver.Options) ([]string, error) {
	return w.once(key, func() (at []string, stop func(), err error) {
		var all []*testserver.Server
		stop = func() {
			for _, s := range all {
				s.Stop()
			}
		}
		for range n {
			s, err := testserver.Start(ctx, engine, o)
			if err != nil {
				stop()
				return nil, nil, err
			}
			all, at = append(all, s), append(at, s.DSN)
		}
		return at, stop, nil
	})
}

func (w *world) file(name string) string { return filepath.Join(w.folder, name) }
