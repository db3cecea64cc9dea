package demo

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// demoColumn is the width of one worker's column: two columns and the time fit into 80.
const demoColumn = 36

// timeline prints what two workers do, one column each, with the seconds since its start.
type timeline struct {
	out   io.Writer
	start time.Time
}

func newTimeline(out io.Writer) *timeline {
	t := &timeline{out, time.Now()}
	t.row("", "worker A", "worker B")
	return t
}

// a prints what worker A does now, in one line or several.
func (t *timeline) a(lines ...string) {
	for i, line := range lines {
		t.row(t.now(i), line, "")
	}
}

// b prints what worker B does now.
func (t *timeline) b(lines ...string) {
	for i, line := range lines {
		t.row(t.now(i), "", line)
	}
}

// now returns the time for the first of several lines.
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
