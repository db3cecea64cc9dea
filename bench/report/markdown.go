package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Column is one column of a Markdown table.
type Column struct {
	Title string
	Cell  func(Row) string
}

// Of returns a column that shows the figure with this key, formatted by the function words, or a dash if a row does not
// have the figure.
func Of(title, key string, words func(float64) string) Column {
	return Column{title, func(r Row) string {
		v, ok := r.Figures[key]
		if !ok {
			return "–"
		}
		return words(v)
	}}
}

// Ratio returns a column that shows the median of the ratio, with the smallest and the largest value of the rounds.
func Ratio(title string) Column {
	return Column{title, func(r Row) string {
		v, ok := r.Figures["ratio"]
		if !ok {
			return "–"
		}
		if r.Kind == Floor {
			return fmt.Sprintf("%.2f", v)
		}
		return fmt.Sprintf("**%.2f** (%.2f–%.2f)", v, r.Figures["ratio_min"], r.Figures["ratio_max"])
	}}
}

// Markdown returns a Markdown table for each section, with a line that says how the section was measured.
func (t Table) Markdown(columns []Column) string {
	if len(t.Sections) == 0 {
		return "Not measured yet.\n"
	}
	var b strings.Builder
	for _, s := range t.Sections {
		s.markdown(&b, columns)
	}
	return b.String()
}

func (s Section) markdown(b *strings.Builder, columns []Column) {
	columns = slices.DeleteFunc(slices.Clone(columns), func(c Column) bool {
		return !slices.ContainsFunc(s.Rows, func(r Row) bool { return c.Cell(r) != "–" })
	})
	fmt.Fprintf(b, "| %s |", s.Title)
	for _, c := range columns {
		fmt.Fprintf(b, " %s |", c.Title)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(columns)) + "\n")
	for _, r := range s.Rows {
		fmt.Fprintf(b, "| %s |", r.label())
		for _, c := range columns {
			fmt.Fprintf(b, " %s |", c.Cell(r))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(b, "\n<sub>%s; %s; %s.</sub>\n", s.when(), s.How, s.versions())
	for _, r := range s.Rows {
		if r.Error != "" {
			fmt.Fprintf(b, "<sub>%s: %s.</sub>\n", r.label(), strings.NewReplacer("\n", " ", "|", `\|`, "<", "&lt;").Replace(r.Error))
		}
	}
	b.WriteString("\n")
}

func (r Row) label() string {
	switch r.Kind {
	case Rowlock:
		return "**rowlock**, " + r.Lock
	case Floor:
		return "*" + r.Lock + "*"
	}
	return r.Lock
}

func (s Section) when() string {
	text := s.Measured.Format("2 January 2006")
	if s.Quick {
		text += ", a quick run whose figures mean little"
	}
	if s.Load > 0 {
		text += fmt.Sprintf(", at a load of %.1f", s.Load)
	}
	return text
}

func (s Section) versions() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(s.Versions)) {
		all = append(all, name+" "+s.Versions[name])
	}
	return strings.Join(all, ", ")
}

// Machines returns the machines on which the tables were measured. All tables should be from one machine.
func Machines(all []Table) string {
	var found []string
	for _, t := range all {
		for _, s := range t.Sections {
			if !slices.Contains(found, s.Machine) {
				found = append(found, s.Machine)
			}
		}
	}
	return strings.Join(found, "; ")
}

// Micros formats a duration in microseconds.
func Micros(v float64) string {
	d := time.Duration(v * float64(time.Microsecond))
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", v)
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2f ms", v/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", v/1e3)
	}
	return fmt.Sprintf("%.1f s", v/1e6)
}

// Bytes formats a size in bytes.
func Bytes(v float64) string {
	switch {
	case v < 1<<10:
		return fmt.Sprintf("%.0f B", v)
	case v < 1<<20:
		return fmt.Sprintf("%.1f KiB", v/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", v/(1<<20))
}

// Tenths formats a number, with one decimal digit if the number is small.
func Tenths(v float64) string {
	if v >= 100 {
		return Count(v)
	}
	return fmt.Sprintf("%.1f", v)
}

// Count formats a number without decimal digits. Share formats a fraction.
func Count(v float64) string { return fmt.Sprintf("%.0f", v) }
func Share(v float64) string { return fmt.Sprintf("%.2f", v) }
