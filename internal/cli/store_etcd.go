package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/rowlock/rowlock/kvlock/etcdlock"
)

// silence is how long a connection to etcd may say nothing before it is tried, the least that gRPC permits.
const silence = 10 * time.Second

func etcdKind(form string, secure bool) kind {
	return kind{
		form: form, port: "2379", several: true, secure: secure, forgets: true,
		options: []string{"prefix"}, check: (*keyValue).withoutPath, open: openEtcd,
	}
}

// openEtcd connects to etcd, once it is known that one server can be reached: the client would wait for
// one until ctx ends, and not say why it found none.
func openEtcd(ctx context.Context, s *store) error {
	at := s.at.keyValue
	secure, err := at.tls()
	if err != nil {
		return err
	}
	if err := reach(ctx, at.servers, secure); err != nil {
		return fail(exitUnavailable, "connect to %s: %w", s.at.shown, err)
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
	return nil
}

// reach returns as soon as one of the servers takes a connection, and else with the reason of each.
func reach(ctx context.Context, servers []string, secure *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	answers := make(chan error, len(servers))
	for _, server := range servers {
		go func() {
			conn, err := dial(ctx, server, secure)
			if err == nil {
				_ = conn.Close()
			} else {
				err = fmt.Errorf("%s: %w", server, err)
			}
			answers <- err
		}()
	}
	var failed []error
	for range servers {
		err := <-answers
		if err == nil {
			return nil
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

func dial(ctx context.Context, server string, secure *tls.Config) (net.Conn, error) {
	if secure == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", server)
	}
	secure = secure.Clone()
	secure.NextProtos = []string{"h2"}
	return (&tls.Dialer{Config: secure}).DialContext(ctx, "tcp", server)
}
