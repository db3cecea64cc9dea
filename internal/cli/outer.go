package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/rowlock/rowlock"
)

// outer is a lock that this process runs under: its own "rowlock run" waits for it to end.
type outer struct {
	store           string // a hash of what names it
	namespace, name string
	holder          string
	token           rowlock.Token
}

// outerLocks are those that the environment tells of, the outermost first. What is malformed was not written by us.
func (e environment) outerLocks() []outer {
	var list []outer
	for entry := range strings.FieldsSeq(e.get(envLocks)) {
		words := strings.Split(entry, ":")
		if len(words) != 5 {
			continue
		}
		for i := range words {
			words[i], _ = url.QueryUnescape(words[i])
		}
		token, err := strconv.ParseInt(words[4], 10, 64)
		if err == nil {
			list = append(list, outer{words[0], words[1], words[2], words[3], rowlock.Token(token)})
		}
	}
	return list
}

// String is how it stands in the environment.
func (o outer) String() string {
	words := []string{o.store, o.namespace, o.name, o.holder, o.token.String()}
	for i := range words {
		words[i] = url.QueryEscape(words[i])
	}
	return strings.Join(words, ":")
}

// outer is what the lock of a lease is to the command that runs under it.
func (s *store) outer(lease *rowlock.Lease) outer {
	return outer{s.hash(), lease.Namespace(), lease.Name(), lease.Holder(), lease.Token()}
}

// hash tells stores apart in an environment, and nothing of them.
func (s *store) hash() string {
	sum := sha256.Sum256([]byte(s.at.shown + " " + s.table.String()))
	return hex.EncodeToString(sum[:8])
}

// itself is the error of waiting for a lock that this process runs under; nil if held tells of another. A store that does
// not tell the token is known by its name.
func (s *store) itself(list []outer, held *rowlock.HeldError) error {
	for _, o := range list {
		if held == nil || o.namespace != held.Namespace || o.name != held.Name {
			continue
		}
		if o.token == held.Token && o.holder == held.Holder || held.Token == 0 && o.store == s.hash() {
			return usage("%q is held by the \"rowlock run\" that this command is part of (token %s), and would wait for itself: leave it out, or name another lock",
				held.Name, o.token)
		}
	}
	return nil
}

// withoutItself ends the wait of a call that is made with the context as soon as w is told that this process runs under the lock.
func (a *app) withoutItself(ctx context.Context, s *store, w *waiting) (context.Context, context.CancelCauseFunc) {
	ctx, giveUp := context.WithCancelCause(ctx)
	w.itself = func(held *rowlock.HeldError) bool {
		err := s.itself(environment(a.std.Env).outerLocks(), held)
		if err != nil {
			giveUp(err)
		}
		return err != nil
	}
	return ctx, giveUp
}

// forItself is the usage error of a call that failed with err because this process runs under the lock; else nil.
func (w *waiting) forItself(ctx context.Context, err error) error {
	var held *rowlock.HeldError
	if errors.As(err, &held) {
		w.itself(held)
	}
	if cause := context.Cause(ctx); exitCode(cause) == exitUsage {
		return cause
	}
	return nil
}

// locks is the variable for a command that runs under one more.
func (e environment) locks(o outer) string {
	return strings.TrimSpace(fmt.Sprint(e.get(envLocks), " ", o))
}
