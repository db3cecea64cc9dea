package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// process is one process of a crew.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	first int
	ended chan struct{}
}

func (c *crew) start(ctx context.Context, j job) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	p := &process{cmd: exec.CommandContext(ctx, program), first: j.First, ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), workerVariable+"=1")
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	c.processes = append(c.processes, p)
	go func() {
		defer close(p.ended)
		c.listen(out)
		_ = p.cmd.Wait()
	}()
	_, err = fmt.Fprintf(p.in, "%s\n", text)
	return err
}

// listen reads the reports of one process and appends them to the events of c.
func (c *crew) listen(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		e := event{text: lines.Text()}
		var ns int64
		if _, err := fmt.Sscan(e.text, &e.kind, &e.member, &ns, &e.slot); err != nil {
			e.kind, e.text, _ = strings.Cut(e.text, " ")
		}
		e.at = time.Unix(0, ns)
		c.note(e)
	}
}
