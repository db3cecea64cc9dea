package terminal

import (
	"log/slog"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// LeaseAttrs returns log attributes that describe a lease, for log collectors.
func LeaseAttrs(l rowlock.LeaseInfo) []slog.Attr {
	return append(KeyAttrs(driver.Key{Namespace: l.Namespace, Name: l.Name}, l.Token), slog.String("holder", l.Holder))
}

// KeyAttrs returns log attributes that describe a lock and its token, for log collectors.
func KeyAttrs(key driver.Key, token rowlock.Token) []slog.Attr {
	return []slog.Attr{slog.String("namespace", key.Namespace), slog.String("name", key.Name), slog.Int64("token", int64(token))}
}

// HeldAttrs returns log attributes that describe the holder of a lock, for log collectors. It returns no attributes if
// e is nil.
func HeldAttrs(e *rowlock.HeldError) []slog.Attr {
	if e == nil {
		return nil
	}
	attrs := []slog.Attr{
		slog.String("namespace", e.Namespace), slog.String("name", e.Name), slog.String("reason", e.Reason.String()),
		slog.String("holder", e.Holder), slog.String("note", e.Note), slog.Int64("token", int64(e.Token)),
	}
	if !e.Since.IsZero() {
		attrs = append(attrs, slog.Time("since", e.Since))
	}
	if e.ExpiresIn > 0 {
		attrs = append(attrs, SecondsAttr("expires_in_seconds", e.ExpiresIn))
	}
	return append(attrs, SecondsAttr("waited_seconds", e.Waited))
}

// SecondsAttr returns a log attribute with the duration d in seconds.
func SecondsAttr(key string, d time.Duration) slog.Attr { return slog.Float64(key, Seconds(d)) }
