package cli

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// silence is how long a connection to etcd may say nothing before it is tried, the least that gRPC permits.
const silence = 10 * time.Second

func etcdKind(form string, secure bool) kind {
	return kind{
		form: form, port: "2379", several: true, secure: secure, forgets: true, reaches: "this cluster and prefix",
		options: []string{"prefix"}, check: (*keyValue).withoutPath, open: openEtcd,
	}
}

// openEtcd connects to etcd.
func openEtcd(ctx context.Context, s *store) error {
	at := s.at.keyValue
	secure, err := at.tls()
	if err != nil {
		return err
	}
	if err := s.at.reach(ctx, secure); err != nil {
		return err
	}
	scheme := "http://"
	if secure != nil {
		scheme = "https://"
	}
	var endpoints []string
	for _, server := range at.servers {
		endpoints = append(endpoints, scheme+server)
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints, Username: at.user, Password: at.password, TLS: secure, Logger: zap.NewNop(),
		DialTimeout: connectTimeout, DialKeepAliveTime: silence, DialKeepAliveTimeout: connectTimeout,
	})
	if err != nil {
		return fail(exitUnavailable, "connect to %s: %w", s.at.shown, err)
	}
	s.closers = append(s.closers, func() { _ = client.Close() })
	var opts []etcdlock.Option
	if at.query.Has("prefix") {
		opts = append(opts, etcdlock.Prefix(at.option("prefix")))
	}
	s.backend = etcdlock.New(client, opts...)
	s.examined = etcdChecks(client, at.prefix("rowlock"))
	return nil
}
