package advisory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sessionlock"
)

// holder is a session that holds a key, as the server reports it. Columns that the role may not read are nil.
type holder struct {
	Key         int64   `json:"key"`
	Shared      bool    `json:"shared"`
	PID         int64   `json:"pid"`
	User        *string `json:"user"`
	Application *string `json:"application"`
	Client      *string `json:"client"`
	AgeMicros   *int64  `json:"age_us"`
}

// String describes the holder for operators: the server process, and what the server knows about the client.
func (h holder) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "session %d", h.PID)
	for _, part := range []struct {
		word string
		of   *string
	}{{" of ", h.User}, {" from ", h.Client}} {
		if part.of != nil && *part.of != "" {
			b.WriteString(part.word + *part.of)
		}
	}
	if h.Application != nil && *h.Application != "" {
		fmt.Fprintf(&b, " (%s)", *h.Application)
	}
	return b.String()
}

// readers returns how many sessions of list hold a share. One session can hold several shares, so the number of shares
// may be larger.
func readers(list []holder) (n int) {
	for _, h := range list {
		if h.Shared {
			n++
		}
	}
	return n
}

// holders queries the sessions that hold the lock id, on this session's connection.
// The caller must have reserved the session.
func (se *session) holders(ctx context.Context, id sql.NullInt64) ([]holder, error) {
	var text string
	if err := se.query(ctx, "holders", []any{id}, &text); err != nil {
		return nil, err
	}
	var list []holder
	err := json.Unmarshal([]byte(text), &list)
	return list, err
}

// look runs one statement on a separate connection from the pool. Unlike a lock, the statement is safe behind any kind
// of pooler, so look does not check for one.
func (s *store) look(ctx context.Context, verb string, args []any, dest any) error {
	if err := s.locks.Ready(ctx); err != nil {
		return err
	}
	c, err := s.source.open(ctx)
	if err != nil {
		return driver.NotApplied(err)
	}
	if err = c.query(ctx, true, s.sql[verb], args, dest); err != nil && !plain(ctx, c, err) {
		c.destroy()
	} else {
		c.giveBack()
	}
	return err
}

func (s *store) lookForHolders(ctx context.Context, id sql.NullInt64) ([]holder, error) {
	var text string
	if err := s.look(ctx, "holders", []any{id}, &text); err != nil {
		return nil, err
	}
	var list []holder
	err := json.Unmarshal([]byte(text), &list)
	return list, err
}

// List implements [driver.Operator]. PostgreSQL stores keys, not names. So only the locks that this backend holds are
// listed by name. If the parameter all is true, List also returns the locks of other processes, as "key " and sixteen
// hexadecimal digits. These include locks of other programs that use single bigint keys. The age of another process's
// lock is the age of its session.
func (b *Backend) List(ctx context.Context, namespace string, all bool) ([]driver.Status, error) {
	holders, err := b.lookForHolders(ctx, sql.NullInt64{})
	if err != nil {
		return nil, b.locks.Explain(ctx, "list", driver.Key{}, err)
	}
	list := []driver.Status{}
	for _, sessions := range byKey(holders) {
		h := sessions[0]
		status, mine := b.locks.Held(h.Key)
		status.Readers = max(status.Readers, readers(sessions))
		if !mine {
			status = statusOf(sessions, driver.Key{Name: fmt.Sprintf("key %016x", uint64(h.Key))}) //nolint:gosec // its bits
			status.Note = "only the key is known: PostgreSQL stores no names of advisory locks"
		}
		if all || mine && status.Key.Namespace == namespace {
			list = append(list, status)
		}
	}
	sessionlock.SortByKey(list)
	return list, nil
}

// Inspect implements [driver.Operator]. The token of a lock that another process holds is unknown and reported as zero.
func (b *Backend) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	id := b.locks.KeyOf(key)
	holders, err := b.lookForHolders(ctx, sql.NullInt64{Int64: id, Valid: true})
	if err != nil {
		return driver.Status{}, b.locks.Explain(ctx, "inspect", key, err)
	}
	if len(holders) == 0 {
		return driver.Status{Key: key}, nil
	}
	if status, mine := b.locks.Held(id); mine && status.Key == key {
		status.Readers = max(status.Readers, readers(holders))
		return status, nil
	}
	return statusOf(holders, key), nil
}

// byKey groups holders, which the server has sorted by key.
func byKey(holders []holder) (groups [][]holder) {
	for i, h := range holders {
		if i == 0 || h.Key != holders[i-1].Key {
			groups = append(groups, nil)
		}
		last := &groups[len(groups)-1]
		*last = append(*last, h)
	}
	return groups
}

// statusOf returns the status of key, which the given sessions hold. It describes the first of them.
func statusOf(sessions []holder, key driver.Key) driver.Status {
	h := sessions[0]
	s := driver.Status{Key: key, State: driver.StateHeld, Holder: h.String(), Readers: readers(sessions)}
	if h.AgeMicros != nil {
		s.Age = time.Duration(*h.AgeMicros) * time.Microsecond
	}
	return s
}

// ForceRelease implements [driver.Operator]. If live is true, it terminates the sessions that hold key
// (pg_terminate_backend). This also releases all other locks of these sessions. The caller's role must be a member
// of the holder's role or of pg_signal_backend.
//
// A token other than zero must belong to a lock that this backend holds, because the tokens of other processes are
// unknown. Then only the session with that token is terminated, and not the session of a later holder. With token zero,
// every session that holds key when the statement runs is terminated. The next grant has a larger token, which fences
// the old holder.
func (b *Backend) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	status, err := b.Inspect(ctx, key)
	switch {
	case err != nil:
		return err
	case status.State != driver.StateHeld || token != 0 && token != status.Token:
		return driver.ErrNotHeld
	case !live:
		return &driver.Held{Reason: driver.Leased, Holder: status.Holder, Note: status.Note, Token: status.Token, Since: status.Age}
	}
	if token == 0 {
		err = b.terminate(ctx, key, sql.NullInt64{})
	} else {
		err = b.locks.During(ctx, key, token, func(ctx context.Context, of sessionlock.Link[int64]) error {
			return b.terminate(ctx, key, sql.NullInt64{Int64: int64(of.(*session).pid), Valid: true})
		})
	}
	return b.locks.Explain(ctx, "force release", key, err)
}

// terminate ends the session of server process pid if that session holds key. If pid is NULL,
// terminate ends all sessions that hold key.
func (s *store) terminate(ctx context.Context, key driver.Key, pid sql.NullInt64) error {
	ended := int64(0)
	err := s.look(ctx, "terminate", []any{s.locks.KeyOf(key), pid}, &ended)
	if err == nil && ended == 0 {
		return driver.ErrNotHeld
	}
	return err
}

// Prune implements [driver.Operator]. It deletes nothing, because advisory locks leave no rows.
func (b *Backend) Prune(ctx context.Context, _ time.Duration) (int, error) {
	return 0, b.locks.Ready(ctx)
}

// Pause implements [driver.Operator]. Pause is not supported: an advisory lock ends with its connection, but a pause
// must continue after the operator's connection has ended.
func (b *Backend) Pause(context.Context, driver.Grant, driver.Nonce) error {
	return driver.Permanent(fmt.Errorf("advisory cannot pause a name: %w", errors.ErrUnsupported))
}
