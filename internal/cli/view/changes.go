package view

import (
	"io"
	"strings"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// Changes writes the differences between each list of locks and the previous list.
type Changes struct {
	w      io.Writer
	before map[driver.Key]Lock
}

// NewChanges returns a Changes that writes to w, one line of JSON for each changed lock.
func NewChanges(w io.Writer) *Changes { return &Changes{w: w} }

// change is the output for one lock that has changed.
type change struct {
	Time   time.Time `json:"time"`
	Change string    `json:"change"` // new, changed or gone
	Lock
}

// Show writes the differences between views and the list of the previous call.
func (c *Changes) Show(views []Lock) error {
	now := make(map[driver.Key]Lock, len(views))
	var lines strings.Builder
	out := terminal.NewEncoder(&lines)
	tell := func(what string, v Lock) error { return out.Encode(change{time.Now(), what, v}) }
	for _, v := range views {
		was, known := c.before[v.Status.Key]
		now[v.Status.Key] = v
		var err error
		switch {
		case !known:
			err = tell("new", v)
		case was.State != v.State || was.Token != v.Token || was.Holder != v.Holder || was.Note != v.Note || was.Readers != v.Readers:
			err = tell("changed", v)
		}
		if err != nil {
			return err
		}
		delete(c.before, v.Status.Key)
	}
	for _, v := range c.before {
		if err := tell("gone", v); err != nil {
			return err
		}
	}
	c.before = now
	return terminal.Write(c.w, lines.String())
}
