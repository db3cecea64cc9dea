package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"math"
	"regexp"
	"strings"
)

// Chart is a chart with one line for each mark. The mark's name is on the left and its value on the right,
// so no texts overlap.
type Chart struct {
	Title  string
	Note   string // a text below the title that says what the chart shows
	Log    bool
	Binary bool                 // if true, the ticks of the axis are powers of two
	Words  func(float64) string // formats a value
	Line   float64              // a value that is drawn as a dashed line for comparison; 0 means none
	Groups []Group
}

// Group is a set of marks that belong together.
type Group struct {
	Title string
	Marks []Mark
}

// Mark is a point on a logarithmic scale, or a bar on a linear scale. The field To is the end of a thin line
// from the mark, for example a 99th percentile.
type Mark struct {
	Name, Kind string
	Value, To  float64
}

const (
	chartWidth = 920
	lineHeight = 22
	nameWidth  = 280 // width of the names
	textWidth  = 150 // width of the values
	charWidth  = 7.2 // the width of a wide character in pixels
	plotLeft   = nameWidth + 14
	plotRight  = chartWidth - textWidth - 8
)

//go:embed chart.css
var chartStyle string

// SVG draws the chart. The picture contains colours for a light and for a dark background.
func (c Chart) SVG() []byte {
	var b bytes.Buffer
	top := 96
	height := top + 14
	for _, g := range c.Groups {
		height += lineHeight + 6 + lineHeight*len(g.Marks)
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`+"\n",
		chartWidth, height, chartWidth, height, html.EscapeString(c.Title))
	fmt.Fprintf(&b, "<style>\n%s</style>\n<rect class=\"back\" width=\"100%%\" height=\"100%%\" rx=\"6\"/>\n", chartStyle)
	text(&b, "title", 16, 26, c.Title)
	text(&b, "note", 16, 46, c.Note)
	c.legend(&b)
	s := c.scale()
	for _, tick := range s.ticks {
		x := s.x(tick)
		fmt.Fprintf(&b, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", x, x, top-4, height-10)
		words := "0" // the tick at zero has no unit
		if tick != 0 {
			words = whole.ReplaceAllString(c.Words(tick), "$1")
		}
		text(&b, "tick", x, float64(top-10), words)
	}
	if c.Line > 0 {
		fmt.Fprintf(&b, "<line class=\"line\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", s.x(c.Line), s.x(c.Line), top-4, height-10)
	}
	y := float64(top)
	for _, g := range c.Groups {
		y += lineHeight + 2
		text(&b, "group", 16, y-6, g.Title)
		for _, m := range g.Marks {
			c.mark(&b, s, m, y+lineHeight/2)
			y += lineHeight
		}
		y += 4
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func (c Chart) mark(b *bytes.Buffer, s scale, m Mark, y float64) {
	text(b, "name "+m.Kind, nameWidth, y+4, shorten(m.Name))
	words := c.Words(m.Value)
	if m.To > 0 {
		words += " … " + c.Words(m.To)
		fmt.Fprintf(b, "<path class=\"reach %s\" d=\"M%.1f %.1fH%.1fm0 -4v8\"/>\n", m.Kind, s.x(m.Value), y, s.x(m.To))
	}
	text(b, "value", chartWidth-16, y+4, words)
	if c.Log {
		sign(b, m.Kind, s.x(m.Value), y)
	} else {
		fmt.Fprintf(b, "<rect class=\"bar %s\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"12\" rx=\"2\"/>\n", m.Kind, plotLeft, y-6, max(1, s.x(m.Value)-plotLeft))
	}
}

// sign draws the symbol of a mark. The kinds of marks differ in shape as well as in colour.
func sign(b *bytes.Buffer, kind string, x, y float64) {
	if kind == Floor {
		fmt.Fprintf(b, "<rect class=\"sign floor\" x=\"%.1f\" y=\"%.1f\" width=\"9\" height=\"9\"/>\n", x-4.5, y-4.5)
		return
	}
	fmt.Fprintf(b, "<circle class=\"sign %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>\n", kind, x, y)
}

// legend lists the kinds of marks in the chart.
func (c Chart) legend(b *bytes.Buffer) {
	x := 22.0
	for _, k := range []struct{ kind, name string }{{Rowlock, "rowlock"}, {Peer, "another library"}, {Floor, "the floor: the minimum work of any lock in that store"}} {
		if !c.has(k.kind) {
			continue
		}
		if c.Log {
			sign(b, k.kind, x, 64)
		} else {
			fmt.Fprintf(b, "<rect class=\"bar %s\" x=\"%.1f\" y=\"58\" width=\"12\" height=\"12\" rx=\"2\"/>\n", k.kind, x-6)
		}
		text(b, "legend", x+11, 68, k.name)
		x += 40 + 6.4*float64(len(k.name))
	}
}

func (c Chart) has(kind string) bool {
	for _, g := range c.Groups {
		for _, m := range g.Marks {
			if m.Kind == kind {
				return true
			}
		}
	}
	return false
}

// whole matches decimal places that are all zero. Such decimal places are removed.
var whole = regexp.MustCompile(`\.0+(\D|$)`)

// shorten shortens a name that is too long for its column.
func shorten(name string) string {
	if most := (nameWidth - 16) * 10 / 72; len([]rune(name)) > most {
		return strings.TrimRight(string([]rune(name)[:most-1]), " ,") + "…"
	}
	return name
}

func text(b *bytes.Buffer, class string, x, y float64, s string) {
	fmt.Fprintf(b, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", class, x, y, html.EscapeString(s))
}

// scale maps values to horizontal positions in the chart.
type scale struct {
	log      bool
	from, to float64
	ticks    []float64
}

func (c Chart) scale() scale {
	least, most := math.Inf(1), c.Line
	for _, g := range c.Groups {
		for _, m := range g.Marks {
			least, most = min(least, m.Value), max(most, m.Value, m.To)
		}
	}
	if c.Log {
		s := scale{log: true, from: math.Pow(10, math.Floor(math.Log10(max(least, 1e-3)))), to: math.Pow(10, math.Ceil(math.Log10(max(most, 1e-2))))}
		for t := s.from; t <= s.to*1.01; t *= 10 {
			s.ticks = append(s.ticks, t)
		}
		return s
	}
	step := math.Pow(10, math.Floor(math.Log10(max(most, 1e-9))))
	for most/step < 3 {
		step /= 2
	}
	if c.Binary {
		step = math.Exp2(math.Floor(math.Log2(max(most, 1) / 3)))
	}
	s := scale{to: math.Ceil(most/step) * step}
	for t := 0.0; t <= s.to*1.01; t += step {
		s.ticks = append(s.ticks, t)
	}
	return s
}

func (s scale) x(v float64) float64 {
	share := v / s.to
	if s.log {
		share = (math.Log10(max(v, s.from)) - math.Log10(s.from)) / (math.Log10(s.to) - math.Log10(s.from))
	}
	return plotLeft + share*(plotRight-plotLeft)
}
