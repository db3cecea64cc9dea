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

// Levels of what is said on stderr. Text shows notices and worse, JSON all of them, --quiet only
// errors: what explains an exit code that is not the command's own.
const (
	Event  = slog.LevelInfo
	Notice = slog.LevelInfo + 2
	Warn   = slog.LevelWarn
	Error  = slog.LevelError
)

// Messages writes what people and collectors are told: sentences or JSON lines on stderr, never
// stdout, which belongs to the command. It is safe for concurrent use.
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

// Say writes one message. The event and the keys of the attributes are for programs and do not
// change; the sentence is for people, and may.
func (m *Messages) Say(level slog.Level, event, sentence string, attrs ...slog.Attr) {
	if !m.handler.Enabled(context.Background(), level) {
		return
	}
	log := slog.New(m.handler)
	log.LogAttrs(context.Background(), level, sentence, append([]slog.Attr{slog.String("event", event)}, attrs...)...)
}

// Event tells programs of something that people need not know.
func (m *Messages) Event(event string, attrs ...slog.Attr) { m.Say(Event, event, event, attrs...) }

// Fail says what has ended the command.
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

// Plain is the text of err in one line, without the prefix of the library, which the command writes in front of each line.
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

// textHandler writes the sentence alone.
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
