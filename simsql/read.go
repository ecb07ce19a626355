package simsql

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"exactlyone"
	"exactlyone/clock"
	"exactlyone/model"
)

// Rows is what a query finds in the committed content of a store, for
// [exactlyone.System.Effects] and the like. Each row maps the names of its columns
// to values as the driver scans them: nil, int64, float64, string, []byte or
// time.Time. It panics with an error that is [exactlyone.ErrUsage] if the store is
// none of this package, or the query is wrong or changes something; a check reports
// that.
func Rows(c exactlyone.Contents, store, query string, args ...any) []map[string]any {
	a := find(c, store, query, args)
	var all []map[string]any
	for _, row := range a.rows {
		m := map[string]any{}
		for i, name := range a.columns {
			m[name] = row[i]
		}
		all = append(all, m)
	}
	return all
}

// Effects is an [exactlyone.System.Effects] that reads each effect from a row of a
// query. Its columns are told by their names, in any case and order, all of them
// optional:
//
//	operation, key  the operation whose effect it is
//	id              the id, as answers name it
//	body            what was stored
//	kind            empty for what answers name, else what follows from it
//
// NULL is "". Any other column is an error; see [Rows].
func Effects(store, query string) func(exactlyone.Contents) []model.Effect {
	return func(c exactlyone.Contents) []model.Effect {
		a := find(c, store, query, nil)
		var all []model.Effect
		for _, row := range a.rows {
			var e model.Effect
			for i, name := range a.columns {
				text := textOf(row[i])
				switch strings.ToLower(name) {
				case "operation", "key":
					e.Operation = text
				case "id":
					e.ID = text
				case "body":
					e.Body = text
				case "kind":
					e.Kind = text
				default:
					panic(fmt.Errorf("%w: effects of store %s: column %q: operation, key, id, body or kind was expected", exactlyone.ErrUsage, store, name))
				}
			}
			all = append(all, e)
		}
		return all
	}
}

func textOf(v driver.Value) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	}
	return fmt.Sprint(v)
}

// find performs a query on a content.
func find(c exactlyone.Contents, store, query string, args []any) *answer {
	wrong := func(what any) error {
		return fmt.Errorf("%w: query of store %s: %s: %v", exactlyone.ErrUsage, store, brief(query), what)
	}
	at, ok := c.State(store).(*content)
	if !ok {
		panic(wrong("a store of package simsql was expected"))
	}
	all := split(query)
	if len(all) != 1 || !all[0].reads {
		panic(wrong("one SELECT was expected"))
	}
	var list []arg
	for i, v := range args {
		value, err := driver.DefaultParameterConverter.ConvertValue(v)
		if err != nil {
			panic(wrong(err))
		}
		list = append(list, arg{Ordinal: i + 1, Value: value})
	}
	a, err := at.store.find(at, command{sql: all[0], args: list})
	if err != nil {
		panic(wrong(err))
	}
	return a
}

func (b *backend) find(at *content, c command) (*answer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.worker == nil {
		return nil, fmt.Errorf("the check is over")
	}
	if err := b.goTo(position{base: at}, b.worker.keys && b.at.log == nil); err != nil {
		return nil, err
	}
	a, err := b.worker.do(c, true, clock.Epoch)
	if err != nil {
		return nil, err
	}
	for _, row := range a.rows {
		for i, v := range row {
			if blob, ok := v.([]byte); ok {
				row[i] = slices.Clone(blob)
			}
		}
	}
	return a, nil
}
