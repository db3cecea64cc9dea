package fence

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rowlock/rowlock"
)

// ErrNoMark means that the resource has no mark with the token that the operator saw. Nothing was reset. The error is a
// [*NoMarkError].
var ErrNoMark = errors.New("fence: no such mark")

// NoMarkError says which token the mark has now, if Reset did not find the token that the operator saw.
type NoMarkError struct {
	Namespace string
	Resource  string
	Seen      rowlock.Token
	Token     rowlock.Token // token of the mark; zero if there is no mark, or it was reset
	Resets    int64         // how often the mark was reset
}

func (e *NoMarkError) Error() string {
	switch {
	case e.Token != 0:
		return fmt.Sprintf("the mark of %q now has token %d instead of %d", e.Resource, e.Token, e.Seen)
	case e.Resets != 0:
		return fmt.Sprintf("the mark of %q was already reset, and no lease has sealed it since", e.Resource)
	default:
		return fmt.Sprintf("%q has no mark: it was never sealed, or the mark was pruned", e.Resource)
	}
}

// Is reports that a *NoMarkError is an [ErrNoMark].
func (e *NoMarkError) Is(target error) bool { return target == ErrNoMark }

// Reset resets a mark that no lease can raise any longer. Either the resource now belongs to another lock or another
// store ([ErrOtherDomain]), or the lock's store has lost its data and grants smaller tokens than before
// ([StaleError].Ahead). After Reset, every earlier holder fails its next [Guard.Check]. The next [Guard.Seal] succeeds,
// whatever its token and domain.
//
// Before you call Reset, make sure that no process works under the old lock. If such a process seals after the reset,
// its seal is accepted. The parameter seen is the token that the operator saw, in [Guard.Marks] or in the error text.
// If the mark has another token by now, nothing is done, and the error is a [*NoMarkError], which is an [ErrNoMark].
//
// Like a seal, Reset waits for the transactions that have checked the mark. When it returns nil, no write of an old
// holder can follow. The wait ends when ctx ends, or after half a minute, and the error is then an [ErrRetry]. After
// any error nothing was reset, unless the reply to the commit was lost. In that case a second call reports that the
// mark was already reset. If a table is missing, the error is a [*SchemaError].
func (g *Guard) Reset(ctx context.Context, namespace, resource string, seen rowlock.Token) error {
	if g.err != nil {
		return g.err
	}
	if err := checkNamespace(namespace); err != nil {
		return err
	}
	if err := checkResource(resource); err != nil {
		return err
	}
	if seen <= 0 {
		return fmt.Errorf("fence: reset: seen is %d: want the token of a sealed mark, which is greater than 0", seen)
	}
	return g.operate(ctx, "reset", func(ctx context.Context, q querier) error {
		return g.dialect.reset(ctx, q, namespace, resource, seen)
	})
}

// ResetAll is [Guard.Reset] for every mark of namespace, whatever its token. If the parameter all is true, it resets
// the marks of every namespace. Use it after you have restored a backup of the data. A mark in the backup belongs to
// the holder that was the newest when the backup was made. Without ResetAll, Check would accept that holder again. No
// holder may work while the data is restored and before ResetAll returns. Each holder must seal again.
//
// ResetAll waits for the transactions that have checked a mark. On PostgreSQL it does not make later checks fail
// meanwhile, unlike Seal and Reset. If holders still work and always have a transaction open, ResetAll returns an error
// after half a minute.
func (g *Guard) ResetAll(ctx context.Context, namespace string, all bool) error {
	if g.err != nil {
		return g.err
	}
	if err := checkNamespace(namespace); err != nil {
		return err
	}
	return g.operate(ctx, "reset all", func(ctx context.Context, q querier) error {
		return g.dialect.resetAll(ctx, q, namespace, all)
	})
}

func (m marks) resetAll(ctx context.Context, q querier, namespace string, all bool) error {
	return q.exec(ctx, m.sql["reset_all"], m.encode(namespace), flag(all))
}

// reset locks the mark before it compares the token, so that no other transaction changes the mark in between.
func (m marks) reset(ctx context.Context, q querier, namespace, resource string, seen rowlock.Token) error {
	now := NoMarkError{Namespace: namespace, Resource: resource, Seen: seen}
	if _, err := q.row(ctx, m.sql["lock_mark"], m.name(namespace, resource), &now.Token, &now.Resets); err != nil {
		return err
	}
	if now.Token != seen {
		return &now
	}
	return q.exec(ctx, m.sql["reset"], append(m.name(namespace, resource), int64(seen))...)
}

// operate runs the function work in a time-limited transaction of its own, and retries when the database rolls it back.
func (g *Guard) operate(ctx context.Context, what string, work func(context.Context, querier) error) error {
	bounded, cancel := context.WithTimeout(ctx, operateLimit)
	defer cancel()
	err := insist(bounded, func() error {
		return g.dialect.own(bounded, func(q querier) error { return work(bounded, q) })
	})
	if ended := ctx.Err(); err != nil && ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", err, ended)
	}
	return operated(what, err)
}

// resetCommand returns the shell command that resets a mark.
func resetCommand(namespace, resource string, token rowlock.Token) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	line := "rowlock fence reset --token " + token.String()
	if namespace != "" {
		line += " --namespace=" + quote(namespace)
	}
	if strings.HasPrefix(resource, "-") {
		line += " --"
	}
	return line + " " + quote(resource)
}
