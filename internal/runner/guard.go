package runner

import (
	"fmt"
	"io"
	"os/exec"
	"sync"
)

// Guard is a small process that outlives this one by a moment: it kills the groups still
// running when this process dies, in whatever way. Close it when there is no more to
// run. A nil Guard guards nothing.
type Guard struct {
	mu    sync.Mutex
	cmd   *exec.Cmd
	lines io.WriteCloser
}

// guardScript keeps the list of groups. At the end of its input, which comes when the
// writer closes it or dies, it kills those that are left. (Not kill -- "-$id": dash knows
// no --.)
const guardScript = `trap '' INT TERM HUP QUIT
all=' '
while read -r op id; do
	case $op in
	add) all="$all$id " ;;
	drop) all="${all%% $id *} ${all#* $id }" ;;
	esac
done
for id in $all; do kill -KILL "-$id" 2>/dev/null; done
exit 0`

// NewGuard starts a guard, or returns nil where there is no POSIX shell.
func NewGuard() *Guard {
	cmd := exec.Command("sh", "-c", guardScript)
	newGroup(cmd) // Ctrl-C is not for it
	lines, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return nil
	}
	return &Guard{cmd: cmd, lines: lines}
}

func (g *Guard) add(group int)  { g.tell("add", group) }
func (g *Guard) drop(group int) { g.tell("drop", group) }

func (g *Guard) tell(op string, group int) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_, _ = fmt.Fprintf(g.lines, "%s %d\n", op, group)
}

// Close ends the guard.
func (g *Guard) Close() {
	if g != nil {
		_ = g.lines.Close()
		_ = g.cmd.Wait()
	}
}
