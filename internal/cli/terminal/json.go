package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
)

// WriteJSON writes v as indented JSON, which people can read and programs can parse.
func WriteJSON(w io.Writer, v any) error {
	e := NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write to stdout: %w", err)
	}
	return nil
}

// NewEncoder returns an encoder that writes each JSON value in one line.
func NewEncoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(jsonWriter{w})
	e.SetEscapeHTML(false)
	return e
}

// jsonWriter escapes characters in JSON that would control a terminal, such as U+009B and U+202E, because encoding/json
// does not escape them.
type jsonWriter struct{ io.Writer }

// Write requires complete JSON values. Characters outside of ASCII occur only in strings, where they can be escaped.
func (w jsonWriter) Write(value []byte) (int, error) {
	var b strings.Builder
	for _, r := range string(value) {
		switch {
		case r == '\n' || strconv.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	if _, err := io.WriteString(w.Writer, b.String()); err != nil {
		return 0, err
	}
	return len(value), nil
}
