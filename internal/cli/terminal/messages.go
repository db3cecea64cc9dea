package terminal

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/oneline"
)

// The values of --log-format.
const (
	FormatText = "text"
	FormatJSON = "json"
)

// Levels of messages on stderr. With --log-format=text only notices, warnings and errors are written, and with json all
// levels. With --quiet only errors are written. A message has the level Error if it explains an exit code that rowlock
// itself has chosen.
const (
	Event  = slog.LevelInfo
	Notice = slog.LevelInfo + 2
	Warn   = slog.LevelWarn
	Error  = slog.LevelError
)

// Messages writes messages to stderr: sentences for people, or JSON lines for log collectors. It never writes to
// stdout, because stdout contains the output of the command under the lock. It is safe for concurrent use.
type Messages struct{ handler slog.Handler }

// NewMessages returns a Messages that writes to w in the given format. If the parameter quiet is true, it writes only
// errors.
func NewMessages(w io.Writer, format string, quiet bool) *Messages {
	least := Notice
	if format == FormatJSON {
		least = Event
	}
	if quiet {
		least = Error
	}
	if format == FormatJSON {
		return &Messages{slog.NewJSONHandler(jsonWriter{w}, &slog.HandlerOptions{Level: least, ReplaceAttr: wordLevel})}
	}
	return &Messages{textHandler{w, least}}
}

// Say writes one message. The sentence is for people, and may change in a new version. The event and the keys of the
// attributes are for programs, and do not change.
func (m *Messages) Say(level slog.Level, event, sentence string, attrs ...slog.Attr) {
	if !m.handler.Enabled(context.Background(), level) {
		return
	}
	log := slog.New(m.handler)
	log.LogAttrs(context.Background(), level, sentence, append([]slog.Attr{slog.String("event", event)}, attrs...)...)
}

// Event writes a message that only log collectors need. With --log-format=text the message is not written.
func (m *Messages) Event(event string, attrs ...slog.Attr) { m.Say(Event, event, event, attrs...) }

// Fail writes an error message for the error that has ended rowlock.
func (m *Messages) Fail(err error) {
	m.Say(Error, eventOf(exit.Code(err)), Plain(err), slog.Int("exit_code", exit.Code(err)))
}

// eventOf returns the event name for an error. The parameter code is the exit code that the error causes.
func eventOf(code int) string {
	switch code {
	case exit.Usage:
		return "usage"
	case exit.Unavailable:
		return "unavailable"
	case exit.Unknown:
		return "unknown"
	case exit.Held:
		return "held"
	case exit.Lost:
		return "lost"
	default:
		return "failed"
	}
}

// Plain returns the text of err in one line, without the library's prefix "rowlock: ", because Messages writes that
// prefix before each line.
func Plain(err error) string { return strings.TrimPrefix(oneline.Text(err), "rowlock: ") }

func wordLevel(_ []string, a slog.Attr) slog.Attr {
	if level, ok := a.Value.Any().(slog.Level); ok && a.Key == slog.LevelKey {
		word := strings.ToLower(level.String())
		if level == Notice {
			word = "notice"
		}
		a.Value = slog.StringValue(word)
	}
	return a
}

// textHandler is a slog.Handler that writes only the sentence of each message.
type textHandler struct {
	w     io.Writer
	least slog.Level
}

func (h textHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.least }

func (h textHandler) Handle(_ context.Context, r slog.Record) error {
	_, err := fmt.Fprintf(h.w, "rowlock: %s\n", Still(r.Message))
	return err
}

func (h textHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h textHandler) WithGroup(string) slog.Handler      { return h }
