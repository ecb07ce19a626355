package exactlyone

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
)

// Logger is a logger whose lines appear in stories, at the step in which they were
// written. It takes no step itself. Lines that Start writes are dropped.
func (e *Env) Logger() *slog.Logger {
	noTime := func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey && a.Value.String() == slog.LevelInfo.String()) {
			return slog.Attr{}
		}
		return a
	}
	return slog.New(logHandler{e, func(w io.Writer) slog.Handler {
		return slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: noTime})
	}})
}

// logHandler writes each record with a handler of its own: one that is shared
// would hold a lock while the caller is parked.
type logHandler struct {
	env *Env
	to  func(io.Writer) slog.Handler
}

func (h logHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return h.env.started && h.to(io.Discard).Enabled(ctx, l)
}

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	var line bytes.Buffer
	if err := h.to(&line).Handle(ctx, r); err != nil {
		return err
	}
	h.env.ask(logOp{strings.TrimSuffix(line.String(), "\n")})
	return nil
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.env, func(w io.Writer) slog.Handler { return h.to(w).WithAttrs(attrs) }}
}

func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.env, func(w io.Writer) slog.Handler { return h.to(w).WithGroup(name) }}
}

// logOp is a line of a log.
type logOp struct{ line string }

func (o logOp) String() string { return "log " + o.line }
