package store

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/system"
	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// redisPort is Redis's default port.
const redisPort = "6379"

func redisKind(form string, cluster, secure bool) kind {
	reaches := "this server and prefix"
	if cluster {
		reaches = "this cluster and prefix"
	}
	return kind{
		form: form, port: redisPort, several: cluster, Secure: secure, reaches: reaches,
		options: []string{"prefix", "allow_eviction", "replicas", "replica_wait"},
		check: func(at *KeyValue) error {
			if cluster {
				return oneline.Join(at.withoutPath(), checkRedis(at))
			}
			return checkRedis(at)
		},
		open: openRedis,
	}
}

func checkRedis(at *KeyValue) error {
	_, err := at.database()
	if err == nil {
		_, err = at.redisOptions()
	}
	return err
}

// database returns the number of the logical database.
func (at *KeyValue) database() (int, error) {
	if at.path == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(at.path)
	if err != nil || n < 0 {
		return 0, errors.New("only the number of a database may follow the server: write " + at.form)
	}
	return n, nil
}

// redisOptions returns the options for package redislock.
func (at *KeyValue) redisOptions() ([]redislock.Option, error) {
	var opts []redislock.Option
	if at.query.Has("prefix") {
		opts = append(opts, redislock.Prefix(at.option("prefix")))
	}
	switch at.option("allow_eviction") {
	case "", "false":
	case "true":
		opts = append(opts, redislock.AllowEviction())
	default:
		return nil, errors.New("allow_eviction: write true or false")
	}
	if at.query.Has("replicas") || at.query.Has("replica_wait") {
		n, err := strconv.Atoi(at.option("replicas"))
		if err != nil {
			return nil, errors.New("replicas: write how many must confirm a grant, and set replica_wait, the time limit")
		}
		wait, err := time.ParseDuration(at.option("replica_wait"))
		if err != nil {
			return nil, errors.New("replica_wait: write the time limit for the replicas to confirm a grant, such as 200ms")
		}
		opts = append(opts, redislock.Replicated(n, wait))
	}
	return opts, nil
}

// openRedis creates the client of one server or of a Cluster, and sets the backend of s. It does no I/O.
func openRedis(_ context.Context, s *Store) error {
	at := s.At.KeyValue
	opts, err := at.redisOptions()
	if err != nil {
		return exit.Usagef("--store: %w", err)
	}
	o, err := at.redisClient(at.Servers[0])
	if err != nil {
		return err
	}
	var client redis.UniversalClient
	if at.several {
		client = redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: at.Servers, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig,
			DialTimeout: o.DialTimeout, PoolSize: o.PoolSize, ContextTimeoutEnabled: o.ContextTimeoutEnabled,
			IdentitySuffix: o.IdentitySuffix, MaintNotificationsConfig: o.MaintNotificationsConfig,
		})
	} else {
		client = redis.NewClient(o)
	}
	s.closers = append(s.closers, func() { _ = client.Close() })
	s.Backend = redislock.New(client, opts...)
	s.Redis = client
	return nil
}

// redisClient returns the client options for one server.
func (at *KeyValue) redisClient(server string) (*redis.Options, error) {
	beSilent()
	secure, err := at.tls()
	if err != nil {
		return nil, err
	}
	number, err := at.database()
	if err != nil {
		return nil, exit.Usagef("--store: %w", err)
	}
	return &redis.Options{
		Addr: server, Username: at.user, Password: at.password, DB: number, TLSConfig: secure,
		DialTimeout: ConnectTimeout, PoolSize: storeConns, ContextTimeoutEnabled: true, IdentitySuffix: system.Program,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}, // disabling saves one request for each connection
	}, nil
}

// beSilent disables the log of the Redis client, because the command itself reports every error once.
var beSilent = sync.OnceFunc(func() { redis.SetLogger(silent{}) })

// silent discards log lines.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// CommandTerms replaces the library's advice for programmers in an error text with advice for the command line.
var CommandTerms = strings.NewReplacer(
	"use redis.NewClusterClient", "write redis+cluster://HOST:PORT for --store",
	"give the client the address of its primary, or use redis.NewFailoverClient", "name its primary in --store",
	"accept evictions with redislock.AllowEviction", "accept evictions with allow_eviction=true in --store",
	"choose another Prefix", "choose another prefix=… in --store",
	"the client sent no password", "write redis://USER:PASSWORD@HOST, or redis://:PASSWORD@HOST, for --store",
)
