package locktest

import "fmt"

// Failure is a broken promise. [Check] returns one Failure for each broken promise.
type Failure struct {
	Case    string // the name of the case, and of the subtest of [Run]
	Promise string // the promise, in one sentence
	Source  string // file and line of the case; empty if the case did not end
	Detail  string // what happened instead
}

func (f *Failure) Error() string {
	where := ""
	if f.Source != "" {
		where = f.Source + ": "
	}
	return fmt.Sprintf("%s: broken promise: %s\n\t%s%s", f.Case, f.Promise, where, f.Detail)
}

// NotRun is a promise that could not be checked. [Check] returns one NotRun for each such promise.
type NotRun struct {
	Case    string
	Promise string
	Reason  string // the reason, for example the interface that the harness lacks
}

func (n *NotRun) Error() string { return fmt.Sprintf("%s: not run: %s", n.Case, n.Reason) }
