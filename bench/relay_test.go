package main

import (
	"testing"
	"time"
)

// passes measures a hand-over from the call of the release to the return of the next acquire,
// in whatever order the two are reported. holders detects two holders at the same time.
func TestPasses(t *testing.T) {
	began := time.Unix(0, 0)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	events := []event{
		{kind: "got", member: 0, at: at(0)}, {kind: "released", member: 0, at: at(10)},
		{kind: "got", member: 1, at: at(13)}, {kind: "released", member: 1, at: at(20)},
		{kind: "got", member: 0, at: at(21)},
	}
	if got := passes(events); len(got) != 2 || got[0] != 3*time.Millisecond || got[1] != time.Millisecond {
		t.Errorf("passes are %v, not 3 ms and 1 ms", got)
	}
	if n := holders(events); n != 0 {
		t.Errorf("%d times two held it, where nobody did", n)
	}
	if n := holders(append(events, event{kind: "got", member: 1, at: at(22)})); n != 1 {
		t.Errorf("%d times two held it, where they did once", n)
	}
	slots := []event{
		{kind: "released", slot: 1, at: at(0)}, {kind: "got", slot: 0, at: at(1)}, {kind: "got", slot: 1, member: 1, at: at(4)},
	}
	if got := passes(slots); len(got) != 1 || got[0] != 4*time.Millisecond {
		t.Errorf("passes of slots are %v, not 4 ms", got)
	}
	if n := holders(slots); n != 0 {
		t.Errorf("%d times two held a slot, where nobody did", n)
	}
	figures := map[string]float64{}
	greedFigures(figures, append(events, event{kind: "got", member: 0}), 2, time.Second)
	if _, ok := figures["least"]; ok {
		t.Error("four turns say nothing of who is served least")
	}
	var many []event
	for i := range 40 {
		many = append(many, event{kind: "got", member: min(1, i%4)})
	}
	if greedFigures(figures, many, 2, time.Second); figures["least"] != 0.5 {
		t.Errorf("who gets 10 of 40 among two is served %v of its share, not 0.5", figures["least"])
	}
}
