package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// herdPictures are the pictures of docs/herd.md and the commands they come from.
var herdPictures = map[string]string{
	"herd-means.svg":    "herd --format svg",
	"herd-arrivals.svg": "herd --format svg --show arrivals",
	"herd-capacity.svg": "herd capacity --format svg",
	"herd-done.svg":     "herd capacity --clients 100 --show done --format svg",
	"herd-layers.svg":   "herd layers --format svg",
}

// TestHerdPictures compares them byte for byte; -update draws them anew.
func TestHerdPictures(t *testing.T) {
	folder := filepath.Join("..", "..", "docs")
	shown, err := os.ReadFile(filepath.Join(folder, "herd.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, command := range herdPictures {
		if !strings.Contains(string(shown), "("+name+")") || !strings.Contains(string(shown), "explore "+command) {
			t.Errorf("docs/herd.md does not show %s or its command, explore %s", name, command)
		}
		var stdout, stderr bytes.Buffer
		if code := run(context.Background(), strings.Fields(command), strings.NewReader(""), &stdout, &stderr); code != exitOK {
			t.Fatalf("%s: exit %d, %s", command, code, stderr.String())
		}
		path := filepath.Join(folder, name)
		if *update {
			if err := os.WriteFile(path, stdout.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if want, err := os.ReadFile(path); err != nil || !bytes.Equal(want, stdout.Bytes()) {
			t.Errorf("docs/%s is not what explore %s draws (%v); -update draws it", name, command, err)
		}
	}
}

// TestHerdInterrupted: after Ctrl-C each command says how far it got, and
// exits with 3.
func TestHerdInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for command, want := range map[string]string{
		"herd":          "Interrupted: 0 of 18 finished.\n",
		"herd capacity": "Interrupted: 0 of 18 finished.\n",
		"herd layers":   "Interrupted: what had happened by then.\n",
	} {
		var stdout, stderr bytes.Buffer
		code := run(ctx, strings.Fields(command), strings.NewReader(""), &stdout, &stderr)
		if code != exitUnknown || !strings.HasSuffix(stdout.String(), want) || stderr.Len() > 0 {
			t.Errorf("%s: exit %d, %q, %q", command, code, stdout.String(), stderr.String())
		}
	}
}

// TestWriteFile: a file is whole or not there at all.
func TestWriteFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if code := run(context.Background(), strings.Fields("herd layers --out out.txt"), strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}); code != exitOK {
		t.Fatalf("exit %d", code)
	}
	before, err := os.ReadFile("out.txt")
	if err != nil || !strings.HasPrefix(string(before), "5 layers") {
		t.Fatalf("%q, %v", before, err)
	}
	if err := os.Mkdir("folder", 0o755); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	if code := run(context.Background(), strings.Fields("herd layers --out folder"), strings.NewReader(""), &bytes.Buffer{}, &stderr); code != exitUsage {
		t.Errorf("exit %d", code)
	}
	files, err := os.ReadDir(".")
	if err != nil || len(files) != 2 {
		t.Errorf("%v, %v: the file that could not be renamed is left over", files, err)
	}
}
