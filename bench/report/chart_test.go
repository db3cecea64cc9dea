package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
)

// No two texts of a chart overlap, however long the names are, and the chart lies within the picture.
func TestChartTextsDoNotOverlap(t *testing.T) {
	for _, log := range []bool{true, false} {
		c := Chart{Title: "A title", Note: "A note", Log: log, Words: Micros, Line: 500}
		for _, group := range []string{"PostgreSQL", "Redlock, three servers in memory"} {
			g := Group{Title: group}
			for i, kind := range []string{Rowlock, Peer, Floor} {
				g.Marks = append(g.Marks, Mark{strings.Repeat("a long name & more ", i*3+1), kind, 80 * float64(i*i*i*400+1), 1e7})
			}
			c.Groups = append(c.Groups, g)
		}
		boxes := texts(t, c.SVG())
		if len(boxes) < 20 {
			t.Fatalf("%d texts are too few", len(boxes))
		}
		for i, a := range boxes {
			if a.left < 0 || a.right > chartWidth {
				t.Errorf("log %v: %q leaves the picture: %.0f to %.0f", log, a.text, a.left, a.right)
			}
			for _, b := range boxes[:i] {
				if a.left < b.right && b.left < a.right && a.y < b.y+11 && b.y < a.y+11 {
					t.Errorf("log %v: %q and %q meet", log, a.text, b.text)
				}
			}
		}
	}
}

// The ticks of an axis are round numbers of the axis's unit. The tick at zero has no unit.
func TestChartTicksAreRound(t *testing.T) {
	c := Chart{Binary: true, Words: Bytes, Groups: []Group{{Marks: []Mark{{"a", Rowlock, 168 << 10, 0}}}}}
	var ticks []string
	for _, b := range texts(t, c.SVG()) {
		if b.y == 86 {
			ticks = append(ticks, b.text)
		}
	}
	if got := strings.Join(ticks, ", "); got != "0, 32 KiB, 64 KiB, 96 KiB, 128 KiB, 160 KiB, 192 KiB" {
		t.Error(got)
	}
}

type box struct {
	text           string
	left, right, y float64
}

// texts returns the bounding box of each text in the chart. It estimates the width for a font size of 12 pixels,
// with the average letter of a wide font.
func texts(t *testing.T, svg []byte) (all []box) {
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "text" {
			continue
		}
		a := map[string]string{}
		for _, attribute := range start.Attr {
			a[attribute.Name.Local] = attribute.Value
		}
		var text string
		if err := d.DecodeElement(&text, &start); err != nil {
			t.Fatal(err)
		}
		x, _ := strconv.ParseFloat(a["x"], 64)
		y, _ := strconv.ParseFloat(a["y"], 64)
		width := charWidth * float64(len([]rune(text)))
		b := box{text, x, x + width, y}
		switch class := strings.Fields(a["class"])[0]; class {
		case "name", "value":
			b.left, b.right = x-width, x
		case "tick":
			b.left, b.right = x-width/2, x+width/2
		}
		all = append(all, b)
	}
}

// A saved table is loaded unchanged. A new section replaces the older section of the same store.
func TestSaveAndLoad(t *testing.T) {
	folder := t.TempDir()
	kept := Table{Name: "t"}
	kept.Put(Section{Store: "a", Title: "A", Rows: []Row{{Lock: "old"}}})
	kept.Put(Section{Store: "b", Title: "B", Rows: []Row{{Lock: "x", Kind: Peer, Error: "it failed"}}})
	kept.Put(Section{Store: "a", Title: "A", Versions: map[string]string{"A": "1"},
		Rows: []Row{{Lock: "new", Kind: Rowlock, Contenders: 8, Figures: map[string]float64{"p50_us": 1.5}}, {Lock: "second"}}})
	if err := kept.Save(folder); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(folder, "t")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(loaded), fmt.Sprint(kept); got != want {
		t.Errorf("loaded\n%s\nnot\n%s", got, want)
	}
}
