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

// lengthValue is the value of a flag for a duration that is larger than zero. Zero would switch off what the flag asks
// for, for example because a variable of a script was not set.
type lengthValue struct{ durationValue }

// Set implements pflag.Value.
func (v lengthValue) Set(s string) error {
	if err := v.durationValue.Set(s); err != nil {
		return err
	}
	if *v.d == 0 {
		return errors.New("must be larger than 0; leave the option out if it is not needed")
	}
	return nil
}

// textValue is the value of a flag for a text that must not be empty.
type textValue struct{ s *string }

func (v textValue) String() string {
	if v.s == nil {
		return ""
	}
	return *v.s
}

// Set implements pflag.Value.
func (v textValue) Set(s string) error {
	if s == "" {
		return errors.New("is empty; was a variable of the script not set?")
	}
	*v.s = s
	return nil
}

// Type returns the word that the help shows for the value.
func (v textValue) Type() string { return "string" }

// countValue is the value of a flag for a number from 1 to most.
type countValue struct {
	n    *int
	most int
}

func (v countValue) String() string {
	if v.n == nil || *v.n == 0 {
		return "" // with an empty text the help shows no default
	}
	return strconv.Itoa(*v.n)
}

// Set implements pflag.Value.
func (v countValue) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return err
	}
	if n < 1 || n > int64(v.most) {
		return fmt.Errorf("must be from 1 to %d", v.most)
	}
	*v.n = int(n)
	return nil
}

// Type returns the word that the help shows for the value.
func (v countValue) Type() string { return "int" }

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
