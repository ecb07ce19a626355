package exactlyone

import (
	"fmt"
	"strings"
	"time"

	"exactlyone/model"
)

// Builtin is a writer that comes with the toolkit.
type Builtin struct {
	Name  string
	About string // one line
	make  func(env *Env) model.Server
	// adjust makes of the system of most writers its own; nil means nothing.
	adjust func(s *System)
	noKey  bool
}

// NewBuiltin is the built-in writer of that name, with clients who derive their
// keys from the key source of that name; key "" means the writer's own. It also
// returns the key source used.
func NewBuiltin(writer, key string) (System, model.KeySource, error) {
	var names []string
	for _, b := range Builtins {
		names = append(names, b.Name)
		if b.Name != writer {
			continue
		}
		if key == "" {
			return b.System(b.DefaultKey()), b.DefaultKey(), nil
		}
		source, err := model.ParseKeySource(key)
		if err != nil {
			return System{}, "", fmt.Errorf("%w: %w", ErrUsage, err)
		}
		return b.System(source), source, nil
	}
	return System{}, "", fmt.Errorf("%w: writer %q: one of %s was expected", ErrUsage, writer, strings.Join(names, ", "))
}

// DefaultKey is the key source that the writer's clients use unless told
// otherwise.
func (b Builtin) DefaultKey() model.KeySource {
	if b.noKey {
		return model.KeyNone
	}
	return model.KeyToolCall
}

// System is the writer with its store and clients who all submit the same
// report, deriving their keys from key.
func (b Builtin) System(key model.KeySource) System {
	s := System{
		Name:   b.Name,
		Stores: []Store{{Name: "db", Tables: model.ReportTables}},
		Start:  b.make,
		Client: func(int) model.Client {
			return model.Client{
				Operation: model.Operation{
					Name: "the report", Path: "/reports", Body: `{"title":"Login fails"}`,
					RunID: "run-1", ToolUseID: "call-1", Module: "auth", Title: "Login fails",
					OtherTitle: "Cannot log in",
				},
				Key:        key,
				Backoff:    100 * time.Millisecond,
				MaxBackoff: 10 * time.Second,
			}
		},
		Effects:   ReportEffects,
		ID:        model.CreatedID,
		Stateless: true,
		OpaqueIDs: true,
	}
	if b.adjust != nil {
		b.adjust(&s)
	}
	return s
}

// ReportEffects reads the rows of the table reports in the store db.
func ReportEffects(c Contents) []model.Effect {
	var all []model.Effect
	for _, row := range c.Rows("db", "reports") {
		all = append(all, model.Effect{ID: model.Literal(row["id"]), Body: row.Text("body")})
	}
	return all
}
