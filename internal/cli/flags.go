package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// forever is the duration that is written inf.
const forever = time.Duration(math.MaxInt64)

var errDuration = errors.New("write a number with a unit, such as 500ms, 30s, 5m, 2h or 30d")

// durationValue is a flag for a duration that is not negative, with inf where that makes sense.
type durationValue struct {
	d        *time.Duration
	infinite bool
}

func (v durationValue) String() string {
	switch {
	case v.d == nil || *v.d == 0:
		return "" // not set, which the help does not print
	case *v.d == forever:
		return "inf"
	default:
		return v.d.String()
	}
}

// Set is for package pflag.
func (v durationValue) Set(s string) error {
	if v.infinite && s == "inf" {
		*v.d = forever
		return nil
	}
	d, err := parseDuration(s)
	switch {
	case err != nil && v.infinite:
		return fmt.Errorf("%w, or inf", errDuration)
	case err != nil:
		return errDuration
	case d < 0:
		return errors.New("must not be negative")
	}
	*v.d = d
	return nil
}

// parseDuration reads what time.ParseDuration does, and whole days before it: 30d, 1d12h.
func parseDuration(s string) (time.Duration, error) {
	days, rest, found := strings.Cut(s, "d")
	if !found {
		return time.ParseDuration(s)
	}
	const most = int64(forever / (24 * time.Hour))
	n, err := strconv.ParseUint(days, 10, 32)
	if err != nil || int64(n) >= most {
		return 0, errDuration
	}
	d := time.Duration(n) * 24 * time.Hour
	if rest == "" {
		return d, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil || more < 0 || more > forever-d {
		return 0, errDuration
	}
	return d + more, nil
}

// Type is what the help calls the value.
func (v durationValue) Type() string { return "duration" }

// choiceValue is a flag that is one of a few words.
type choiceValue struct {
	s       *string
	choices []string
}

func (v choiceValue) String() string {
	if v.s == nil {
		return ""
	}
	return *v.s
}

// Set is for package pflag.
func (v choiceValue) Set(s string) error {
	for _, c := range v.choices {
		if s == c {
			*v.s = s
			return nil
		}
	}
	return fmt.Errorf("write %s", strings.Join(v.choices, ", "))
}

// Type is what the help calls the value.
func (v choiceValue) Type() string { return strings.Join(v.choices, "|") }

// flagError says in one sentence what is wrong with a flag.
func flagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return &failure{exitUsage, err}
	}
	if invalid.GetFlag().Name == "store" {
		return usage("--store: %w", invalid.Unwrap())
	}
	return usage("--%s=%s: %w", invalid.GetFlag().Name, invalid.GetValue(), inWords(invalid.Unwrap()))
}

// inWords says what package strconv wants.
func inWords(err error) error {
	var number *strconv.NumError
	switch {
	case !errors.As(err, &number):
		return err
	case errors.Is(err, strconv.ErrRange):
		return errors.New("is too large")
	case number.Func == "ParseBool":
		return errors.New("write true or false")
	default:
		return errors.New("write a whole number")
	}
}

// variable is the environment form of a flag: --log-format is ROWLOCK_LOG_FORMAT.
func variable(flag string) string {
	return "ROWLOCK_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment sets those of the named flags that were not given from their variables. It runs
// after the command line was read, so that a store's password never becomes a default in the help.
func fromEnvironment(flags *pflag.FlagSet, env environment, names ...string) error {
	for _, name := range names {
		f := flags.Lookup(name)
		value := env.get(variable(name))
		if f == nil || f.Changed || value == "" || variable(name) == envHolder && env.nested() {
			continue // inside a run, ROWLOCK_HOLDER is who holds the outer lock
		}
		if err := f.Value.Set(value); err != nil {
			return usage("%s=%s: %w", variable(name), value, inWords(err))
		}
	}
	return nil
}
