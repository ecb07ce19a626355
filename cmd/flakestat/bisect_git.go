package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"exactlyone/internal/runner"
)

// repository is the git repository of the working directory.
type repository struct {
	root, gitDir string
	prefix       string // of the working directory, below root
}

// commit is one of those to search.
type commit struct {
	id, subject string
	why         string // it cannot be run
}

// short is the identity as shown.
func (c commit) short() string { return c.id[:min(len(c.id), 10)] }

// gitLocal are the variables that bind git to one repository, as git rev-parse
// --local-env-vars lists them. Git sets some for hooks. Whoever inherits them works on
// that repository's files, wherever its working directory is.
var gitLocal = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT",
	"GIT_OBJECT_DIRECTORY", "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE",
	"GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE", "GIT_PREFIX",
	"GIT_SHALLOW_FILE", "GIT_COMMON_DIR",
}

// gitCommand is a git command on the repository of its working directory.
func gitCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env = runner.Environ(gitLocal)
	return cmd
}

// git runs a git command in a folder and returns what it prints. No hook runs: those of
// the user are not for scratch worktrees.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := gitCommand(ctx, append([]string{"-c", "core.hooksPath=" + os.DevNull}, args...)...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) {
		line, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return "", fmt.Errorf("git %s: %s", args[0], strings.TrimPrefix(line, "fatal: "))
	}
	return strings.TrimSuffix(stdout.String(), "\n"), err
}

func openRepository(ctx context.Context) (*repository, error) {
	out, err := git(ctx, "", "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--show-prefix")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(out, "\n")
	if len(lines) != 3 {
		return nil, fmt.Errorf("git rev-parse: three lines were expected: %q", out)
	}
	return &repository{root: lines[0], gitDir: lines[1], prefix: lines[2]}, nil
}

// line is the commits from good to bad, both included, along first parents.
func (r *repository) line(ctx context.Context, good, bad string) ([]commit, error) {
	var ends [2]string
	for i, x := range [][2]string{{"good", good}, {"bad", bad}} {
		id, err := git(ctx, r.root, "rev-parse", "--verify", "--quiet", "--end-of-options", x[1]+"^{commit}")
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("--%s %q: a commit was expected", x[0], x[1])
		}
		ends[i] = id
	}
	if base, err := git(ctx, r.root, "merge-base", ends[0], ends[1]); ctx.Err() == nil && (err != nil || base != ends[0]) {
		return nil, fmt.Errorf("--good %s: an ancestor of --bad %s was expected", good, bad)
	}
	var all []commit
	for _, args := range [][]string{{"--max-count=1", ends[0]}, {"--first-parent", "--reverse", ends[0] + ".." + ends[1]}} {
		out, err := git(ctx, r.root, append([]string{"log", "--no-show-signature", "--format=%H %s"}, args...)...)
		if err != nil {
			return nil, err
		}
		for text := range strings.Lines(out) {
			id, subject, _ := strings.Cut(strings.TrimSuffix(text, "\n"), " ")
			all = append(all, commit{id: id, subject: subject})
		}
	}
	if len(all) < 2 {
		return nil, fmt.Errorf("--good %s and --bad %s are the same commit", good, bad)
	}
	return all, nil
}

// completeRefs offers branches and tags.
func completeRefs(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	out, _ := git(cmd.Context(), "", "for-each-ref", "--format=%(refname:short)")
	return append(strings.Fields(out), "HEAD"), cobra.ShellCompDirectiveNoFileComp
}

// scratchName begins the name of each scratch folder.
const scratchName = "flakestat-bisect-"

// scratch names a worktree that is not there yet, in a folder of its own.
func (r *repository) scratch() (string, error) {
	dir, err := os.MkdirTemp("", scratchName)
	return filepath.Join(dir, "tree"), err
}

// checkout makes the worktree if it is not there, brings it to a commit and removes all
// that is not part of it.
func (r *repository) checkout(ctx context.Context, tree, id string) error {
	if _, err := os.Stat(tree); errors.Is(err, os.ErrNotExist) {
		_, err := git(ctx, r.root, "worktree", "add", "--quiet", "--detach", tree, id)
		return err
	}
	if _, err := git(ctx, tree, "checkout", "--quiet", "--force", "--detach", id); err != nil {
		return err
	}
	_, err := git(ctx, tree, "clean", "--quiet", "-ffdx")
	return err
}

// discard removes a scratch worktree and its folder, as far as they are there.
func (r *repository) discard(ctx context.Context, tree string) {
	dir := filepath.Dir(tree)
	if !strings.HasPrefix(filepath.Base(dir), scratchName) { // whatever a state file says
		return
	}
	ctx = context.WithoutCancel(ctx)
	_, _ = git(ctx, r.root, "worktree", "remove", "--force", "--force", tree)
	_ = os.RemoveAll(dir)
	_, _ = git(ctx, r.root, "worktree", "prune")
}
