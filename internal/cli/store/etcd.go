package store

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// silence is how long a connection to etcd may be idle before the client checks it. gRPC does not permit a smaller
// value.
const silence = 10 * time.Second

func etcdKind(form string, secure bool) kind {
	return kind{
		form: form, port: "2379", several: true, Secure: secure, forgets: true, reaches: "this cluster and prefix",
		options: []string{"prefix"}, check: (*KeyValue).withoutPath, open: openEtcd,
	}
}

// openEtcd connects to etcd, and sets the backend of s.
func openEtcd(ctx context.Context, s *Store) error {
	at := s.At.KeyValue
	secure, err := at.tls()
	if err != nil {
		return err
	}
	if err := s.At.reach(ctx, secure); err != nil {
		return err
	}
	scheme := "http://"
	if secure != nil {
		scheme = "https://"
	}
	var endpoints []string
	for _, server := range at.Servers {
		endpoints = append(endpoints, scheme+server)
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints, Username: at.user, Password: at.password, TLS: secure, Logger: zap.NewNop(),
		DialTimeout: ConnectTimeout, DialKeepAliveTime: silence, DialKeepAliveTimeout: ConnectTimeout,
	})
	if err != nil {
		return exit.Failf(exit.Unavailable, "connect to %s: %w", s.At.Shown, err)
	}
	s.closers = append(s.closers, func() { _ = client.Close() })
	var opts []etcdlock.Option
	if at.query.Has("prefix") {
		opts = append(opts, etcdlock.Prefix(at.option("prefix")))
	}
	s.Backend = etcdlock.New(client, opts...)
	s.Etcd, s.Secure = client, secure
	return nil
}
