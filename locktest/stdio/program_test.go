//go:build unix

package stdio

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock"
)

// full is the backend of a program that has every operation but those for leases.
type full interface {
	driver.Backend
	driver.Operator
}

// serve is the program that a test starts: it answers the requests with a backend for PostgreSQL that has the defect.
func serve(defect string) {
	db, err := sql.Open("pgx", os.Getenv(Variable))
	if err != nil {
		panic(err)
	}
	b := defects[defect](sqllock.Postgres(db), db)
	var out sync.Mutex
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var q request
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			panic(err)
		}
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), micros(q.LimitUS))
			defer cancel()
			var r reply
			r.fail(answer(ctx, b, q, &r))
			r.ID = &q.ID
			line, err := json.Marshal(r)
			if err != nil {
				panic(err)
			}
			out.Lock()
			defer out.Unlock()
			_, _ = os.Stdout.Write(append(line, '\n'))
		}()
	}
}

func answer(ctx context.Context, b full, q request, r *reply) (err error) {
	switch q.Op {
	case "capabilities":
		c := b.Capabilities()
		r.Backend, r.Tokens, r.Shares, r.Ticks, r.Operator, r.Pauses = "test", c.Token.String(), c.Shares, c.Ticks, true, c.Pauses
		return nil
	case "acquire":
		g := q.grant.grant()
		g, err = b.Acquire(ctx, driver.Request{
			Key: g.Key, Nonce: g.Nonce, TTL: g.TTL, Holder: q.Holder, Note: q.Note, MinHold: g.MinHold, HandoverDelay: g.HandoverDelay,
			Shared: g.Shared, Waiting: q.Waiting, Waits: q.Waits,
		})
		r.Token, r.Done = g.Token.String(), g.Done
		return err
	case "renew":
		grants := make([]driver.Grant, len(q.Grants))
		for i, g := range q.Grants {
			grants[i] = g.grant()
		}
		got, err := b.Renew(ctx, grants)
		for _, o := range got {
			r.Outcomes = append(r.Outcomes, o.String())
		}
		return err
	case "release":
		return b.Release(ctx, q.grant.grant())
	case "list":
		list, err := b.List(ctx, q.Namespace, q.All)
		r.show(list...)
		return err
	case "inspect":
		one, err := b.Inspect(ctx, q.grant.grant().Key)
		r.show(one)
		return err
	case "force":
		g := q.grant.grant()
		return b.ForceRelease(ctx, g.Key, g.Token, q.Live)
	case "prune":
		r.Deleted, err = b.Prune(ctx, micros(q.UnusedUS))
		return err
	case "pause":
		as, err := driver.ParseNonce(q.As)
		if err != nil {
			return err
		}
		return b.Pause(ctx, q.grant.grant(), as)
	default:
		return driver.Permanent(errors.New("unknown operation " + q.Op))
	}
}

// grant returns the grant that g describes.
func (g grant) grant() driver.Grant {
	nonce, err := driver.ParseNonce(g.Nonce)
	if err != nil {
		panic(err)
	}
	token, err := parseToken(g.Token)
	if err != nil {
		panic(err)
	}
	return driver.Grant{
		Key: driver.Key{Namespace: g.Namespace, Name: g.Name}, Nonce: nonce, Token: token, TTL: micros(g.TTLUS),
		MinHold: micros(g.MinHoldUS), HandoverDelay: micros(g.HandoverUS), Shared: g.Shared, Done: g.Done,
	}
}

func (r *reply) show(list ...driver.Status) {
	for _, s := range list {
		r.Locks = append(r.Locks, lock{
			Namespace: s.Key.Namespace, Name: s.Key.Name, State: s.State.String(), Token: s.Token.String(), Holder: s.Holder, Note: s.Note,
			AgeUS: s.Age.Microseconds(), ExpiresInUS: s.ExpiresIn.Microseconds(), FreeInUS: s.FreeIn.Microseconds(),
			Done: s.Done, Readers: s.Readers, Waiters: s.Waiters,
		})
	}
}

// fail makes r the reply that reports err.
func (r *reply) fail(err error) {
	var held *driver.Held
	switch {
	case err == nil:
		return
	case errors.As(err, &held):
		r.Error = "held"
		for word, reason := range reasons {
			if reason == held.Reason {
				r.Reason = word
			}
		}
		r.Holder, r.Note, r.Token, r.Readers = held.Holder, held.Note, held.Token.String(), held.Readers
		r.SinceUS, r.FreeInUS = held.Since.Microseconds(), held.ExpiresIn.Microseconds()
	case errors.Is(err, driver.ErrNotHeld):
		r.Error = "not held"
	case driver.IsPermanent(err):
		r.Error = "permanent"
	case driver.IsNotApplied(err):
		r.Error = "not applied"
	default:
		r.Error = "unknown"
	}
	r.Message = err.Error()
}

// defects are the backends of the test's program, by defect.
var defects = map[string]func(full, *sql.DB) full{
	"":                        func(b full, _ *sql.DB) full { return b },
	"grants no share":         func(b full, _ *sql.DB) full { return exclusive{b} },
	"records no tick":         func(b full, _ *sql.DB) full { return tickless{b} },
	"lists all namespaces":    func(b full, _ *sql.DB) full { return listsAll{b} },
	"always shows the holder": func(b full, _ *sql.DB) full { return inspectsHeld{b} },
	"ends a live lease":       func(b full, _ *sql.DB) full { return forcesLive{b} },
	"prunes held locks":       func(b full, db *sql.DB) full { return prunesHeld{b, db} },
	"releases for a pause":    func(b full, _ *sql.DB) full { return pausesNothing{b} },
}

type exclusive struct{ full }

func (b exclusive) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	r.Shared = false
	return b.full.Acquire(ctx, r)
}

type tickless struct{ full }

func (b tickless) Release(ctx context.Context, g driver.Grant) error {
	g.Done = ""
	return b.full.Release(ctx, g)
}

type listsAll struct{ full }

func (b listsAll) List(ctx context.Context, namespace string, _ bool) ([]driver.Status, error) {
	return b.full.List(ctx, namespace, true)
}

type inspectsHeld struct{ full }

func (b inspectsHeld) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	s, err := b.full.Inspect(ctx, key)
	if s.Token > 0 {
		s.State = driver.StateHeld
	}
	return s, err
}

type forcesLive struct{ full }

func (b forcesLive) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, _ bool) error {
	return b.full.ForceRelease(ctx, key, token, true)
}

type prunesHeld struct {
	full
	db *sql.DB
}

func (b prunesHeld) Prune(ctx context.Context, _ time.Duration) (int, error) {
	_, err := b.db.ExecContext(ctx, "DELETE FROM rowlock_lease")
	return 0, err
}

type pausesNothing struct{ full }

func (b pausesNothing) Pause(ctx context.Context, g driver.Grant, _ driver.Nonce) error {
	return b.full.Release(ctx, g)
}
