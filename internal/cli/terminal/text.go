// Package terminal writes rowlock's output for people and programs: tables, JSON, messages on stderr,
// and the status line of a command that waits. It formats durations, and removes characters that would control a
// terminal.
package terminal

import (
	"fmt"
	"strconv"
	"strings"
)

// Names, holders and notes come from other programs. They must not move the cursor of a terminal, or change the
// direction in which a line is read. If they are part of a suggested command, a shell must not execute them.

// Still replaces each unprintable character with a question mark: control characters, and characters that change the
// writing direction.
func Still(line string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, line)
}

// Quoted returns s unchanged if s is a plain word, and as a quoted Go string otherwise.
func Quoted(s string) string {
	q := strconv.Quote(s)
	if s == "" || strings.Contains(s, " ") || q[1:len(q)-1] != s {
		return q
	}
	return s
}

// ShellQuoted returns s as one word of a command that can be pasted into a shell. It writes unprintable characters in
// the form $'\x1b', which bash, zsh and ksh understand.
func ShellQuoted(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
	switch {
	case s != "" && strings.Trim(s, plain) == "":
		return s
	case Still(s) == s:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for _, r := range s {
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			for _, octet := range []byte(string(r)) {
				fmt.Fprintf(&b, `\x%02x`, octet)
			}
		}
	}
	b.WriteString("'")
	return b.String()
}

// Cell returns s as text for a table cell. It returns a dash for an empty text, and quotes a text that contains spaces
// or unprintable characters.
func Cell(s string) string {
	if s == "" {
		return "-"
	}
	return Quoted(s)
}

// Note is like Cell, but does not quote spaces, because it is for the last cell of a line.
func Note(s string) string {
	if q := Quoted(s); s != "" && q != s && q != `"`+s+`"` {
		return q
	}
	return s
}
