package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"exactlyone"
)

func newReplay() *cobra.Command {
	var until int
	var format string
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Run a story again, for real",
		Long: `Replay runs the writer along a story that "explore check" has written. Each
process runs from its start to its end in one go, so a debugger can follow it:

  dlv debug ./cmd/explore -- replay key_split.trace.json

Steps are found by their labels, so small edits of the writer do no harm: steps
that it has besides are taken, steps that it has no longer are left out. If that
does not lead back to the story, it says where it left it. FILE may be - for
standard input.`,
		Example: `  explore replay key_split.trace.json
  explore replay key_split.trace.json --until 5   stop there, show what is stored`,
		Args: oneArg("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := parseFormat(format, storyFormats); err != nil {
				return err
			}
			if until < 0 || until == 0 && cmd.Flags().Changed("until") {
				return fmt.Errorf("--until %d: a step, 1 or more, was expected", until)
			}
			return replay(cmd, args[0], until, format)
		},
	}
	cmd.Flags().IntVar(&until, "until", 0, "stop after this step and show the stores (default: to the end)")
	cmd.Flags().StringVar(&format, "format", "text", orList(storyFormats)+", a diagram of the story")
	complete(cmd, "format", storyFormats...)
	return cmd
}

func replay(cmd *cobra.Command, path string, until int, format string) error {
	t, err := readTrace(cmd.Context(), cmd.InOrStdin(), path)
	if err != nil {
		return err
	}
	sys, err := newSystem(t.System, &t.Origin)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var snapshot exactlyone.Snapshot
	got, err := exactlyone.Replay(sys, t, until, func(s exactlyone.Snapshot) { snapshot = s })
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	out := cmd.OutOrStdout()
	switch {
	case format == "json":
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err = enc.Encode(struct {
			*exactlyone.Trace
			Snapshot *exactlyone.Snapshot `json:"snapshot,omitempty"`
		}{got, snapshotIf(until > 0, &snapshot)})
	case format == "mermaid" && until > 0:
		err = got.WriteMermaidAt(out, snapshot)
	case format == "mermaid":
		err = got.WriteMermaid(out)
	default:
		err = got.WriteText(out, exactlyone.TextOptions{Color: colored(out)})
		if err == nil && until > 0 {
			err = writeSnapshot(out, until, snapshot)
		}
	}
	if err != nil {
		return err
	}
	if got.Property != "" {
		return exit(exitBroken)
	}
	if until == 0 && t.Property != "" {
		return fmt.Errorf("%s: the trace breaks %s, the replay breaks nothing", path, t.Property)
	}
	return nil
}

func readTrace(ctx context.Context, stdin io.Reader, path string) (*exactlyone.Trace, error) {
	if path == "-" {
		return exactlyone.ReadTrace(untilDone{ctx, stdin}, "standard input")
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: a regular file was expected", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return exactlyone.ReadTrace(f, path)
}

// untilDone reads until its context is done: a read from a terminal or a pipe may
// wait for ever.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	type read struct {
		n   int
		err error
	}
	done := make(chan read, 1)
	go func() {
		n, err := u.r.Read(p)
		done <- read{n, err}
	}()
	select {
	case got := <-done:
		return got.n, got.err
	case <-u.ctx.Done():
		return 0, u.ctx.Err()
	}
}

func snapshotIf(wanted bool, s *exactlyone.Snapshot) *exactlyone.Snapshot {
	if wanted {
		return s
	}
	return nil
}

// writeSnapshot shows what is stored and where everybody stands.
func writeSnapshot(out io.Writer, step int, s exactlyone.Snapshot) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\nAfter step %d:\n", step)
	for _, part := range s.Stands {
		fmt.Fprintf(&b, "  %s %s\n", part.Name, part.Text)
	}
	for _, part := range s.Stores {
		fmt.Fprintf(&b, "\nStore %s, committed:\n%s", part.Name, indent(part.Text))
	}
	for _, part := range s.Open {
		fmt.Fprintf(&b, "\nOpen transaction, %s:\n%s", part.Name, indent(part.Text))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func indent(text string) string {
	text = strings.TrimRight(text, "\n")
	return "  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
}
