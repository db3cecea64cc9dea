package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/rowlock/rowlock/internal/oneline"
)

// Levels of what is said on stderr. Text shows notices and worse, JSON all of them, --quiet only
// errors: what explains an exit code that is not the command's own.
const (
	levelEvent  = slog.LevelInfo
	levelNotice = slog.LevelInfo + 2
	levelWarn   = slog.LevelWarn
	levelError  = slog.LevelError
)

// messages writes what people and collectors are told: sentences or JSON lines on stderr, never
// stdout, which belongs to the command. It is safe for concurrent use.
type messages struct{ handler slog.Handler }

func newMessages(w io.Writer, format string, quiet bool) *messages {
	least := levelNotice
	if format == formatJSON {
		least = levelEvent
	}
	if quiet {
		least = levelError
	}
	if format == formatJSON {
		return &messages{slog.NewJSONHandler(jsonWriter{w}, &slog.HandlerOptions{Level: least, ReplaceAttr: wordLevel})}
	}
	return &messages{textHandler{w, least}}
}

// say writes one message. The event and the keys of the attributes are for programs and do not
// change; the sentence is for people, and may.
func (m *messages) say(level slog.Level, event, sentence string, attrs ...slog.Attr) {
	if !m.handler.Enabled(context.Background(), level) {
		return
	}
	log := slog.New(m.handler)
	log.LogAttrs(context.Background(), level, sentence, append([]slog.Attr{slog.String("event", event)}, attrs...)...)
}

func (m *messages) event(event string, attrs ...slog.Attr) { m.say(levelEvent, event, event, attrs...) }

func (m *messages) fail(err error) {
	m.say(levelError, eventOf(exitCode(err)), plain(err), slog.Int("exit_code", exitCode(err)))
}

// eventOf names a failure by its exit code.
func eventOf(code int) string {
	switch code {
	case exitUsage:
		return "usage"
	case exitUnavailable:
		return "unavailable"
	case exitUnknown:
		return "unknown"
	case exitHeld:
		return "held"
	case exitLost:
		return "lost"
	default:
		return "failed"
	}
}

// plain is the text of err in one line, without the prefix of the library, which the command writes in front of each line.
func plain(err error) string { return strings.TrimPrefix(oneline.Text(err), "rowlock: ") }

func wordLevel(_ []string, a slog.Attr) slog.Attr {
	if level, ok := a.Value.Any().(slog.Level); ok && a.Key == slog.LevelKey {
		word := strings.ToLower(level.String())
		if level == levelNotice {
			word = "notice"
		}
		a.Value = slog.StringValue(word)
	}
	return a
}

// textHandler writes the sentence alone.
type textHandler struct {
	w     io.Writer
	least slog.Level
}

func (h textHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.least }

func (h textHandler) Handle(_ context.Context, r slog.Record) error {
	_, err := fmt.Fprintf(h.w, "rowlock: %s\n", still(r.Message))
	return err
}

func (h textHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h textHandler) WithGroup(string) slog.Handler      { return h }
