package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
)

// WriteJSON writes v in a form for people and programs.
func WriteJSON(w io.Writer, v any) error {
	e := NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write to stdout: %w", err)
	}
	return nil
}

// NewEncoder returns an encoder that writes one JSON value a line.
func NewEncoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(jsonWriter{w})
	e.SetEscapeHTML(false)
	return e
}

// jsonWriter writes JSON that a terminal can only print. encoding/json does not escape U+009B and U+202E.
type jsonWriter struct{ io.Writer }

// Write accepts whole values only. Outside of strings JSON is ASCII, so every other character can be escaped.
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
