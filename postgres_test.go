//go:build linux

package exactlyone

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"exactlyone/model"
)

// postgres is a PostgreSQL server of the test's own, spoken to through psql.
type postgres struct {
	bin, dir string
	as       *syscall.Credential // the server refuses to run as root
}

// startPostgres starts a server from the binaries that are installed, and skips
// the test where there are none.
func startPostgres(t *testing.T) *postgres {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/psql") // its clients lie beside the server
	if len(found) == 0 {
		t.Skip("no PostgreSQL server is installed: no /usr/lib/postgresql/*/bin/psql")
	}
	dir, err := os.MkdirTemp("", "pg") // short, for the socket in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &postgres{bin: filepath.Dir(found[len(found)-1]), dir: dir}
	if os.Geteuid() == 0 {
		p.asPostgres(t)
	}
	data := filepath.Join(dir, "data")
	if out, err := p.command("initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	server := p.command("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off",
		"-c", "autovacuum=off", "-c", "deadlock_timeout=5ms")
	log, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Signal(syscall.SIGQUIT); _ = server.Wait() })
	lines := bufio.NewScanner(log)
	for lines.Scan() && !strings.Contains(lines.Text(), "ready to accept connections") {
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	return p
}

// asPostgres makes the server run as the user postgres instead of root.
func (p *postgres) asPostgres(t *testing.T) {
	u, err := user.Lookup("postgres")
	if err != nil {
		t.Skip("PostgreSQL does not run as root, and there is no user postgres: ", err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(p.dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	p.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func (p *postgres) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.bin, name), args...)
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as, Pdeathsig: syscall.SIGQUIT} // none outlives the test
	return cmd
}

// psql is one connection.
type psql struct {
	t       *testing.T
	in      io.WriteCloser
	replies chan string // one for each text sent
	pid     string      // of the server process
}

const mark = "--done--"

func (p *postgres) connect(t *testing.T) *psql {
	t.Helper()
	cmd := p.command("psql", "-X", "-A", "-t", "-h", p.dir, "-U", "postgres")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	c := &psql{t: t, in: in, replies: make(chan string, 1)}
	go c.read(out)
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait(); _ = out.Close() })
	c.do(`\set VERBOSITY sqlstate`)
	c.pid = c.do("SELECT pg_backend_pid();")
	return c
}

func (c *psql) read(out io.Reader) {
	var text []string
	for s := bufio.NewScanner(out); s.Scan(); {
		if s.Text() == mark {
			c.replies <- strings.Join(text, "\n")
			text = nil
			continue
		}
		text = append(text, s.Text())
	}
	close(c.replies)
}

// send sends a text without waiting for what comes of it.
func (c *psql) send(sql string) {
	if _, err := io.WriteString(c.in, sql+"\n\\echo "+mark+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// do sends a text and returns what psql prints.
func (c *psql) do(sql string) string {
	c.send(sql)
	return c.reply()
}

func (c *psql) reply() string {
	r, ok := <-c.replies
	if !ok {
		c.t.Fatal("psql has ended")
	}
	return r
}

// errWaits is a statement that waited, and was given up.
var errWaits = errors.New("waits")

// failure is the error that psql printed, nil if it printed none.
func failure(printed string) error {
	_, after, ok := strings.Cut(printed, "ERROR:  ")
	if !ok {
		return nil
	}
	switch code := after[:5]; code {
	case "23505":
		return model.ErrDuplicate
	case "40001":
		return model.ErrSerialization
	case "40P01":
		return model.ErrDeadlock
	case "55P03":
		return errWaits
	default:
		return fmt.Errorf("SQLSTATE %s", code)
	}
}

// sqlOf is a statement as PostgreSQL takes it; a SELECT and an INSERT return
// the columns of the table.
func sqlOf(t model.Table, s model.Stmt) string {
	var columns []string
	for _, c := range t.Columns {
		columns = append(columns, fmt.Sprintf("coalesce(%s::text, 'NULL')", c.Name))
	}
	var b strings.Builder
	switch s.Verb {
	case model.SelectVerb:
		fmt.Fprintf(&b, "SELECT %s FROM %s", strings.Join(columns, ", "), t.Name)
	case model.InsertVerb:
		var names, values []string
		for _, a := range s.Set {
			names, values = append(names, a.Col), append(values, model.Literal(a.Value))
		}
		fmt.Fprintf(&b, "INSERT INTO %s (%s) VALUES (%s)", t.Name, strings.Join(names, ", "), strings.Join(values, ", "))
		if s.OrIgnore {
			b.WriteString(" ON CONFLICT DO NOTHING")
		}
		b.WriteString(" RETURNING " + t.Columns[0].Name)
	case model.UpdateVerb:
		var set []string
		for _, a := range s.Set {
			old := ""
			if a.Add {
				old = a.Col + " + "
			}
			set = append(set, a.Col+" = "+old+model.Literal(a.Value))
		}
		fmt.Fprintf(&b, "UPDATE %s SET %s", t.Name, strings.Join(set, ", "))
	case model.DeleteVerb:
		b.WriteString("DELETE FROM " + t.Name)
	}
	for i, c := range s.Where {
		b.WriteString([]string{" WHERE ", " AND "}[min(i, 1)])
		if c.Value == nil && c.Op == "=" {
			b.WriteString(c.Col + " IS NULL")
		} else {
			b.WriteString(c.Col + " " + c.Op + " " + model.Literal(c.Value))
		}
	}
	return b.String() + ";"
}

// createSQL creates a table with its unique sets in order.
func createSQL(t model.Table) string {
	var columns []string
	for _, c := range t.Columns {
		columns = append(columns, c.Name+" "+[...]string{"text", "bigint", "timestamptz", "bigserial"}[c.Kind])
	}
	all := []string{fmt.Sprintf("CREATE TABLE %s (%s);", t.Name, strings.Join(columns, ", "))}
	for _, u := range t.Unique {
		all = append(all, fmt.Sprintf("CREATE UNIQUE INDEX ON %s (%s);", t.Name, strings.Join(u, ", ")))
	}
	return strings.Join(all, " ")
}

// tableOf is the table of a statement.
func tableOf(schema model.Schema, name string) model.Table {
	return schema[slices.IndexFunc(schema, func(t model.Table) bool { return t.Name == name })]
}
