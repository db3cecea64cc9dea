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

// Levels of messages on stderr. Text shows notices and above, JSON shows all levels, and --quiet only errors. An error
// explains an exit code that is not the command's own.
const (
	Event  = slog.LevelInfo
	Notice = slog.LevelInfo + 2
	Warn   = slog.LevelWarn
	Error  = slog.LevelError
)

// Messages writes messages for people and log collectors: sentences or JSON lines on stderr. It never writes to stdout,
// which belongs to the command. It is safe for concurrent use.
type Messages struct{ handler slog.Handler }

// NewMessages writes to w, in one of the formats.
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

// Say writes one message. The event and the keys of the attributes are for programs and do not change. The sentence is
// for people and may change.
func (m *Messages) Say(level slog.Level, event, sentence string, attrs ...slog.Attr) {
	if !m.handler.Enabled(context.Background(), level) {
		return
	}
	log := slog.New(m.handler)
	log.LogAttrs(context.Background(), level, sentence, append([]slog.Attr{slog.String("event", event)}, attrs...)...)
}

// Event writes a message that only programs need.
func (m *Messages) Event(event string, attrs ...slog.Attr) { m.Say(Event, event, event, attrs...) }

// Fail writes the error that has ended the command.
func (m *Messages) Fail(err error) {
	m.Say(Error, eventOf(exit.Code(err)), Plain(err), slog.Int("exit_code", exit.Code(err)))
}

// eventOf names a failure by its exit code.
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

// Plain returns the text of err in one line, without the library's prefix. The command writes its own prefix before
// each line.
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

// textHandler writes only the sentence.
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
