package runner

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// streams carry the output of a command to its writers. exec has pipes of its own, but
// waits for them together with the process; here the two ends are told apart.
type streams struct {
	read, write []*os.File
	to          []io.Writer
	done        chan struct{} // closed when nobody holds a write end any more
}

// connect gives a command its pipes: one if both streams go to the same writer.
func connect(cmd *exec.Cmd, c Command) (*streams, error) {
	s := &streams{done: make(chan struct{})}
	pipe := func(to io.Writer) (*os.File, error) {
		if to == nil {
			to = io.Discard // not /dev/null: the end of the pipe tells the end of the group
		}
		r, w, err := os.Pipe()
		if err != nil {
			s.close()
			return nil, fmt.Errorf("runner: making a pipe: %w", err)
		}
		s.read, s.write, s.to = append(s.read, r), append(s.write, w), append(s.to, to)
		return w, nil
	}
	out, err := pipe(c.Stdout)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = out, out
	if !same(c.Stdout, c.Stderr) {
		if cmd.Stderr, err = pipe(c.Stderr); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// same says whether two writers are one. Some cannot be compared, as in os/exec.
func same(a, b io.Writer) (equal bool) {
	defer func() { _ = recover() }()
	return a == b
}

// started begins to copy. The write ends are the command's alone from now on.
func (s *streams) started() {
	var all sync.WaitGroup
	for i, r := range s.read {
		_ = s.write[i].Close()
		all.Go(func() {
			if _, err := io.Copy(s.to[i], r); err != nil {
				_, _ = io.Copy(io.Discard, r) // the writer is full: let the command go on
			}
		})
	}
	go func() {
		all.Wait()
		close(s.done)
	}()
}

// close gives up: what is being read ends.
func (s *streams) close() {
	for i := range s.read {
		_ = s.read[i].Close()
		_ = s.write[i].Close()
	}
}
