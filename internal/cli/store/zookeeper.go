package store

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"

	"github.com/rowlock/rowlock/kvlock/zklock"
)

func zookeeperKind(form string, secure bool) kind {
	return kind{
		form: form, port: "2181", several: true, Secure: secure, forgets: true, untimed: true, reaches: "this ensemble and root",
		check: func(at *KeyValue) error {
			if strings.Contains(at.path, "@") { // an @ in the path means that the path contains part of a password
				return errors.New("special characters in user and password are written %XX: write " + at.form)
			}
			return nil
		},
		open: openZooKeeper,
	}
}

// openZooKeeper checks that a server is reachable, and sets the backend of s. The backend opens its own connection at
// its first request.
func openZooKeeper(ctx context.Context, s *Store) error {
	at := s.At.KeyValue
	secure, err := at.tls()
	if err != nil {
		return err
	}
	var opts []zklock.Option
	if at.path != "" {
		opts = append(opts, zklock.Root("/"+at.path))
	}
	if at.user != "" {
		opts = append(opts, zklock.Digest(at.user, at.password))
	}
	if secure != nil {
		opts = append(opts, zklock.Dialer((&tls.Dialer{Config: secure}).DialContext))
	}
	backend := zklock.New(at.Servers, opts...)
	s.closers = append(s.closers, backend.Close)
	s.Backend = backend
	s.Secure = secure
	if backend.Capabilities().Invalid != nil {
		return nil // the caller reports the error
	}
	return s.At.reach(ctx, secure)
}
