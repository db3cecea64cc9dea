package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// durationValue is the value of a flag for a duration that is not negative. Some flags also accept inf,
// which means no limit.
type durationValue struct {
	d        *time.Duration
	infinite bool
}

func (v durationValue) String() string {
	switch {
	case v.d == nil || *v.d == 0:
		return "" // with an empty text the help shows no default
	case *v.d == terminal.Forever:
		return "inf"
	default:
		return v.d.String()
	}
}

// Set implements pflag.Value.
func (v durationValue) Set(s string) error {
	if v.infinite && s == "inf" {
		*v.d = terminal.Forever
		return nil
	}
	d, err := terminal.ParseDuration(s)
	switch {
	case err != nil && v.infinite:
		return fmt.Errorf("%w, or inf", terminal.ErrDuration)
	case err != nil:
		return terminal.ErrDuration
	case d < 0:
		return errors.New("must not be negative")
	}
	*v.d = d
	return nil
}

// Type returns the word that the help shows for the value.
func (v durationValue) Type() string { return "duration" }

// choiceValue is the value of a flag that accepts only a few words.
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

// Set implements pflag.Value.
func (v choiceValue) Set(s string) error {
	for _, c := range v.choices {
		if s == c {
			*v.s = s
			return nil
		}
	}
	return fmt.Errorf("write %s", strings.Join(v.choices, ", "))
}

// Type returns the words that the help shows for the value.
func (v choiceValue) Type() string { return strings.Join(v.choices, "|") }

// flagError returns a usage error that says in one sentence what is wrong with a flag.
func flagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return exit.With(exit.Usage, err)
	}
	if invalid.GetFlag().Name == "store" {
		return exit.Usagef("--store: %w", invalid.Unwrap())
	}
	return exit.Usagef("--%s=%s: %w", invalid.GetFlag().Name, invalid.GetValue(), inWords(invalid.Unwrap()))
}

// inWords replaces an error of package strconv with a sentence about the expected value.
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
