package exactlyone

import (
	"errors"

	"exactlyone/choice"
)

// Live sets a system up and returns what runs one execution of it for real, in the
// plainest way.
func Live(sys System, b Bounds) (run func() error, end func(), err error) {
	prepared, err := sys.prepared()
	if err != nil {
		return nil, nil, err
	}
	if b, err = b.withDefaults(); err != nil {
		return nil, nil, err
	}
	t, err := newTables(prepared, b)
	if err != nil {
		return nil, nil, err
	}
	var d driven
	return func() error {
		if err := d.drawLive(newLive(t), new(choice.Replay)); err != nil {
			return err
		}
		if d.broken != 0 {
			return errors.New("a property is broken")
		}
		return nil
	}, t.close, nil
}
