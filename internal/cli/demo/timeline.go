package demo

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// demoColumn is the width of one worker's column. Two columns and the time fit into 80 characters.
const demoColumn = 36

// timeline prints what two workers do, in one column for each worker, with the seconds since its start.
type timeline struct {
	out   io.Writer
	start time.Time
}

func newTimeline(out io.Writer) *timeline {
	t := &timeline{out, time.Now()}
	t.row("", "worker A", "worker B")
	return t
}

// a prints lines in the column of worker A, with the present time in the first line.
func (t *timeline) a(lines ...string) {
	for i, line := range lines {
		t.row(t.now(i), line, "")
	}
}

// b prints lines in the column of worker B, with the present time in the first line.
func (t *timeline) b(lines ...string) {
	for i, line := range lines {
		t.row(t.now(i), "", line)
	}
}

// now returns the seconds since the start as text for line 0, and an empty text for the other lines.
func (t *timeline) now(line int) string {
	if line > 0 {
		return ""
	}
	return fmt.Sprintf("%.1f s", time.Since(t.start).Seconds())
}

func (t *timeline) row(now, a, b string) {
	line := fmt.Sprintf("%5s  %-*s %s", now, demoColumn, a, b)
	fmt.Fprintln(t.out, strings.TrimRight(line, " "))
}
