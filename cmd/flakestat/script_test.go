package main

import (
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite expected outputs; read the difference before committing it")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"flakestat": func() { os.Exit(program()) },
	})
}

// TestScripts runs the command as a shell would; see each script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/scripts",
		UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
		},
	})
}

// exits runs "exits CODE flakestat …" and checks the exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG ...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if e, ok := err.(interface{ ExitCode() int }); ok {
		code = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if want := args[0]; want != string(rune('0'+code)) {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}
