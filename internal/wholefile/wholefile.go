// Package wholefile writes files that are there whole or not at all, whatever
// interrupts the writer.
package wholefile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Write lets write fill the file at path. It appears there, or replaces what was
// there, only once all of it is written. Links are followed; a device or a pipe
// is written to as it is.
func Write(path string, write func(io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	err = errors.Join(write(tmp), tmp.Chmod(0o644), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}
