package store

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/kvlock/redlock"
)

func redlockKind(form string, secure bool) kind {
	return kind{
		form: form, port: redisPort, several: true, Secure: secure, reaches: "a majority of these servers, and this prefix",
		options: []string{"prefix", "max_ttl", "node_timeout"},
		check: func(at *KeyValue) error {
			_, err := at.redlockOptions()
			return oneline.Join(at.withoutPath(), err)
		},
		open: openRedlock,
	}
}

// redlockOptions returns the options for package redlock.
func (at *KeyValue) redlockOptions() ([]redlock.Option, error) {
	var opts []redlock.Option
	if at.query.Has("prefix") {
		opts = append(opts, redlock.Prefix(at.option("prefix")))
	}
	for name, option := range map[string]func(time.Duration) redlock.Option{
		"max_ttl": redlock.MaxTTL, "node_timeout": redlock.NodeTimeout,
	} {
		if !at.query.Has(name) {
			continue
		}
		d, err := terminal.ParseDuration(at.option(name))
		if err != nil {
			return nil, errors.New(name + ": " + terminal.ErrDuration.Error())
		}
		opts = append(opts, option(d))
	}
	return opts, nil
}

// longestTTL returns the longest TTL that the store grants, or zero if the store has no such limit.
func (at *KeyValue) longestTTL() time.Duration {
	switch d, err := terminal.ParseDuration(at.option("max_ttl")); {
	case err == nil:
		return d
	case at.Scheme == "redlock" || at.Scheme == "redlocks":
		return redlock.DefaultMaxTTL
	default:
		return 0
	}
}

// openRedlock creates a client for each server, and sets the backend of s. It does no I/O.
func openRedlock(_ context.Context, s *Store) error {
	at := s.At.KeyValue
	opts, err := at.redlockOptions()
	if err != nil {
		return exit.Usagef("--store: %w", err)
	}
	var nodes []*redis.Client
	for _, server := range at.Servers {
		o, err := at.redisClient(server)
		if err != nil {
			return err
		}
		nodes = append(nodes, redis.NewClient(o))
	}
	backend := redlock.New(nodes, opts...)
	s.closers = append(s.closers, func() {
		_ = backend.Close()
		for _, node := range nodes {
			_ = node.Close()
		}
	})
	s.Backend = backend
	s.Nodes = nodes
	return nil
}
