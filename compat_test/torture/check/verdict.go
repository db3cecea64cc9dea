package check

import "fmt"

// Verdict is the result of checking one property.
type Verdict struct {
	ID, Property string
	Judged       int      // number of cases checked
	Broken       int      // number of the checked cases that are violations
	Unknown      int      // number of the checked cases that are undecidable
	Examples     []string // examples of violations
	NotSeen      string   // the reason why this run cannot check the property
	Need         bool     // if true, a run that checked no case of this property fails
}

const examples = 3

func (v *Verdict) broken(format string, args ...any) {
	v.Broken++
	if len(v.Examples) < examples {
		v.Examples = append(v.Examples, fmt.Sprintf(format, args...))
	}
}

// OK reports whether the property holds and enough cases were checked.
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
