package wholefile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"exactlyone/internal/wholefile"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := wholefile.Write(file, text("first")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if err := wholefile.Write(link, text("second")); err != nil {
		t.Fatal(err)
	}
	errHalf := errors.New("half")
	err := wholefile.Write(file, func(w io.Writer) error { return errors.Join(text("thi")(w), errHalf) })
	if !errors.Is(err, errHalf) {
		t.Errorf("error %v, want %v", err, errHalf)
	}
	if got, _ := os.ReadFile(file); string(got) != "second" {
		t.Errorf("the file holds %q, want what was whole: second", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if err := wholefile.Write(os.DevNull, text("gone")); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode()&os.ModeDevice == 0 {
		t.Errorf("%s is no device any more", os.DevNull)
	}
	if wholefile.Write(dir, text("x")) == nil || wholefile.Write(filepath.Join(dir, "no", "file"), text("x")) == nil {
		t.Error("a folder was overwritten, or one made")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("%d entries, want the file and its link", len(entries))
	}
}
