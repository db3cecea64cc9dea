package fence

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rowlock/rowlock"
)

// ErrNoMark: the resource has no mark with the token that was seen, and nothing was reset. The error
// is a [*NoMarkError].
var ErrNoMark = errors.New("fence: no such mark")

// NoMarkError says what a mark is by now that was to be reset.
type NoMarkError struct {
	Namespace string
	Resource  string
	Seen      rowlock.Token
	Token     rowlock.Token // of the mark; zero if there is none, or it was reset
	Resets    int64         // how often the mark was reset
}

func (e *NoMarkError) Error() string {
	switch {
	case e.Token != 0:
		return fmt.Sprintf("the mark of %q has token %d by now, and not %d", e.Resource, e.Token, e.Seen)
	case e.Resets != 0:
		return fmt.Sprintf("the mark of %q was reset already, and nobody has sealed it since", e.Resource)
	default:
		return fmt.Sprintf("%q has no mark: it was never sealed, or the mark was pruned", e.Resource)
	}
}

// Is makes a *NoMarkError an [ErrNoMark].
func (e *NoMarkError) Is(target error) bool { return target == ErrNoMark }

// Reset takes a mark back that no lease can raise any more: the resource now belongs to another
// lock or another store ([ErrOtherDomain]), or the lock's store has lost its history
// ([StaleError].Ahead). Every holder of before is refused by its next [Guard.Check], and the next
// [Guard.Seal] is taken, whatever its token and domain.
//
// It is for an operator who knows that nobody works under the old lock: who acquired there and
// comes to seal after the reset is that next one. seen is the token that the operator saw
// ([Guard.Marks], or the error's text), and nothing is done when the mark has another by now
// ([*NoMarkError], for an [ErrNoMark]).
//
// Like a seal, Reset waits for the transactions that have checked the mark: when it returns nil,
// nothing of an old holder can follow. The wait ends with ctx, and after half a minute, with an
// [ErrRetry]. Nothing was reset after any error, unless the reply to the commit was lost: a repetition
// then finds that the mark was reset already. A missing table is a [*SchemaError].
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
		return fmt.Errorf("fence: reset: seen is %d: want the token of a sealed mark, which is above 0", seen)
	}
	return g.operate(ctx, "reset", func(ctx context.Context, q querier) error {
		return g.dialect.reset(ctx, q, namespace, resource, seen)
	})
}

// ResetAll is [Guard.Reset] of every mark of namespace, or with all of every namespace, whatever its
// token. It is for data that comes from a backup: there, a mark is that of a holder who was the newest
// when the backup was made, and who would pass its check again. Nobody may work while the data is
// restored and before ResetAll returns; each holder must seal again. On PostgreSQL it holds no later check back, as Seal and Reset do: if
// holders work all the same, and their transactions overlap without end, it gives up after half a minute.
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

// reset locks the mark before it compares, so that the answer is of what was done.
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

// operate runs work in a bounded transaction of its own, and again when the database undoes it.
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

// resetCommand is the line that resets a mark, for a shell.
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
