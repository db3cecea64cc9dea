package main

import "github.com/rowlock/rowlock/bench/report"

// picture describes a chart that shows one figure of a table.
type picture struct {
	name, table string
	chart       report.Chart
	show        func(report.Row) bool
	// The keys of two figures. The first is drawn as the mark. The second is the end of the thin line that starts at
	// the mark.
	value, to string
	label     func(report.Row) string
}

func pictures() []picture {
	name := func(r report.Row) string { return r.Lock }
	clients := func(r report.Row) string {
		if r.Contenders == 1 {
			return "1 client"
		}
		return orDash(r.Contenders) + " clients"
	}
	eight := func(r report.Row) bool { return r.Contenders == 8 && r.Processes == 8 }
	one := func(r report.Row) bool { return r.Kind != report.Floor }
	all := func(report.Row) bool { return true }
	return []picture{
		{"handover", "handover", report.Chart{Title: "Hand-over between eight processes", Log: true, Words: report.Micros,
			Note: "From the call of the release to the return of the next holder's acquire: median … 99th percentile, on a logarithmic scale. Shorter is better."},
			eight, "p50_us", "p99_us", name},
		{"fairness", "handover", report.Chart{Title: "Fairness: the least served of eight processes", Words: report.Share, Line: 0.5,
			Note: "All processes acquire as often as they can. 1.00: the process gets as many grants as the average process. The dashed line is half of that."},
			eight, "least", "", name},
		{"cycle", "cycle", report.Chart{Title: "Acquire and release of a free name", Words: report.Share, Line: 1,
			Note: "Acquires and releases per second, divided by those of the minimum work in the same store (the dashed line). Longer is better."},
			one, "ratio", "", name},
		{"herd", "herd", report.Chart{Title: "Cost of a hand-over with a thousand waiters", Log: true, Words: report.Tenths,
			Note: "Statements, requests or commits for each hand-over, counted by the server, on a logarithmic scale. Fewer is better."},
			all, "counted", "", name},
		{"death", "death", report.Chart{Title: "When the holder's process is killed", Words: millis,
			Note: "Time until another process has the lock. Leases end after their TTL of three seconds, session locks when the connection ends."},
			all, "killed_next_ms", "", name},
		{"rows", "rows", report.Chart{Title: "Cost of a cycle in a table of many rows", Words: report.Share, Line: 1,
			Note: "The median time in a table of one row, divided by the median time in the larger table. The dashed line means equally fast. Longer is better."},
			one, "ratio_p50", "", name},
		{"clients", "clients", report.Chart{Title: "Many clients, each with a name of its own", Log: true, Words: report.Count,
			Note: "Acquires and releases per second, on a logarithmic scale, beside the minimum work with the same number of clients. Longer is better."},
			all, "per_s", "", clients},
		{"bloat", "bloat", report.Chart{Title: "Size of the table after the given number of cycles on a hundred names", Words: report.Bytes, Binary: true,
			Note: "Separately stored indexes are not included. The space of old row versions is reused. PostgreSQL reuses it when no snapshot needs them."},
			all, "table_bytes", "", name},
	}
}

// draw draws a chart of the measured values. The result ok is false if there are none.
func (p picture) draw(t report.Table) (svg []byte, ok bool) {
	c := p.chart
	for _, s := range t.Sections {
		g := report.Group{Title: s.Title}
		for _, r := range s.Rows {
			v, found := r.Figures[p.value]
			if found && p.show(r) {
				g.Marks = append(g.Marks, report.Mark{Name: p.label(r), Kind: r.Kind, Value: v, To: r.Figures[p.to]})
			}
		}
		if len(g.Marks) > 0 {
			c.Groups = append(c.Groups, g)
		}
	}
	return c.SVG(), len(c.Groups) > 0
}
