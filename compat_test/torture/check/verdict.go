package check

import "fmt"

// Verdict is what was found of one property.
type Verdict struct {
	ID, Property string
	Judged       int      // things looked at
	Broken       int      // of them
	Unknown      int      // could not be decided
	Examples     []string // of what is broken
	NotSeen      string   // why nothing can be judged here
	Need         bool     // a run in which nothing was judged says too little
}

const examples = 3

func (v *Verdict) broken(format string, args ...any) {
	v.Broken++
	if len(v.Examples) < examples {
		v.Examples = append(v.Examples, fmt.Sprintf(format, args...))
	}
}

// OK says whether the property holds, and whether enough was seen to say so.
func (v *Verdict) OK() bool {
	return v.Broken == 0 && v.Unknown == 0 && (v.Judged > 0 || !v.Need || v.NotSeen != "")
}

func (v *Verdict) String() string {
	word := "ok"
	switch {
	case v.Broken > 0:
		word = fmt.Sprintf("BROKEN %d times", v.Broken)
	case v.Unknown > 0:
		word = fmt.Sprintf("UNKNOWN %d times", v.Unknown)
	case v.NotSeen != "":
		word = "not seen: " + v.NotSeen
	case v.Judged == 0 && v.Need:
		word = "TOO LITTLE"
	}
	return fmt.Sprintf("%-4s %-58s %9d  %s", v.ID, v.Property, v.Judged, word)
}
