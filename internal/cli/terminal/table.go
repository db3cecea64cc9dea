package terminal

import (
	"fmt"
	"io"
)

// Write writes a text for people to w, which is stdout. It does nothing if the text is empty.
func Write(w io.Writer, text string) error {
	if text == "" {
		return nil
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write to stdout: %w", err)
	}
	return nil
}
