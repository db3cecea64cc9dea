package rowlock

import (
	"context"
	"errors"
	"log/slog"
)

// LogTrace returns a trace that logs to l: what a person must know of as a warning, what changes
// hands as information, the rest for debugging. The keys of the attributes do not change.
func LogTrace(l *slog.Logger) *Trace {
	log := func(level slog.Level, msg string, who []slog.Attr, attrs ...slog.Attr) {
		l.LogAttrs(context.Background(), level, "rowlock: "+msg, append(who, attrs...)...)
	}
	return &Trace{
		Waiting: func(e WaitingEvent) {
			log(slog.LevelDebug, "waiting", e.attrs(), slog.Int("ahead", e.Ahead))
		},
		Acquired: func(e AcquiredEvent) {
			log(slog.LevelInfo, "acquired", e.attrs(), slog.Duration("waited", e.Waited), slog.Int("attempts", e.Attempts), slog.Duration("ttl", e.TTL))
		},
		AcquireFailed: func(e AcquireFailedEvent) {
			level := slog.LevelDebug // whoever called is told
			if errors.Is(e.Err, ErrUnavailable) {
				level = slog.LevelWarn
			}
			log(level, "not acquired", e.attrs(), slog.Any("error", e.Err), slog.Duration("waited", e.Waited), slog.Int("attempts", e.Attempts))
		},
		HeldByOther: func(e HeldByOtherEvent) {
			log(slog.LevelDebug, "held by other", e.attrs(), slog.String("by", e.Held.Holder), slog.Int64("by_token", int64(e.Held.Token)), slog.Duration("expires_in", e.Held.ExpiresIn))
		},
		Renewed: func(e RenewedEvent) {
			log(slog.LevelDebug, "renewed", e.attrs(), slog.Duration("took", e.Took), slog.Duration("margin", e.Margin), slog.Int("batch", e.Batch))
		},
		RenewalFailed: func(e RenewalFailedEvent) {
			log(slog.LevelWarn, "renewal failed", e.attrs(), slog.Any("error", e.Err), slog.Int("failures", e.Failures), slog.Duration("left", e.Left))
		},
		Lost: func(e LostEvent) {
			log(slog.LevelError, "lost", e.attrs(), slog.String("reason", e.Reason.String()), slog.Duration("held", e.Held))
		},
		Released: func(e ReleasedEvent) {
			if e.Err != nil {
				log(slog.LevelWarn, "released", e.attrs(), slog.Duration("held", e.Held), slog.Any("error", e.Err))
				return
			}
			log(slog.LevelInfo, "released", e.attrs(), slog.Duration("held", e.Held))
		},
		Resolved: func(e ResolvedEvent) {
			if e.Err != nil {
				log(slog.LevelWarn, "unknown outcome given up", e.attrs(), slog.Any("error", e.Err))
				return
			}
			log(slog.LevelInfo, "unknown outcome resolved", e.attrs(), slog.Bool("freed", e.Freed))
		},
	}
}

func (i LockInfo) attrs() []slog.Attr {
	attrs := make([]slog.Attr, 0, 8)
	if i.Namespace != "" {
		attrs = append(attrs, slog.String("namespace", i.Namespace))
	}
	return append(attrs, slog.String("name", i.Name))
}

func (i LeaseInfo) attrs() []slog.Attr {
	return append(i.LockInfo.attrs(), slog.Int64("token", int64(i.Token)))
}
