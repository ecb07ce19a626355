package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"exactlyone"
	"exactlyone/model"
)

// The table of docs/writers.md: writer × key source × fault → what breaks first.

const tablePath = "../../docs/writers.md"

// cellKey is one run.
type cellKey struct {
	writer string
	key    model.KeySource
	fault  string // "" for none
	store  string
}

// tableFaults are the columns, by the budget's name.
func tableFaults() (names, heads []string) {
	names, heads = []string{""}, []string{"none"}
	for _, l := range new(exactlyone.Bounds).Limits() {
		if l.Least == 0 {
			names = append(names, l.Name)
			heads = append(heads, strings.ReplaceAll(l.Name, "_", " "))
		}
	}
	return names, heads
}

// tableBounds is two clients that try twice, and one fault of a kind. Where two
// clients never share a key it is one client.
func tableBounds(k cellKey) exactlyone.Bounds {
	b := exactlyone.Bounds{}
	if k.key == model.KeyNone || k.key == model.KeyPerAttempt {
		b.Clients = 1
	}
	if k.fault == "skews" {
		b.Nodes = 2
	}
	for _, l := range b.Limits() {
		switch {
		case l.Name == k.fault:
			*l.N = 1
		case l.Least == 0:
			*l.N = exactlyone.None
		}
	}
	return b
}

// cell says what breaks first.
func cell(t *testing.T, k cellKey) string {
	sys, err := newSystem(k.writer, &exactlyone.Origin{Key: string(k.key), Store: k.store})
	if err != nil {
		t.Fatal(err)
	}
	r, err := exactlyone.Run(context.Background(), sys, tableBounds(k), exactlyone.Options{Workers: 1})
	switch {
	case err != nil:
		t.Errorf("%+v: %v", k, err)
		return "?"
	case r.Verdict == exactlyone.Violated:
		return r.Story.Property
	case r.Verdict == exactlyone.Holds:
		return "✓"
	case len(r.NotApplicable) > 0:
		return "n/a"
	case r.Verdict == exactlyone.Vacuous:
		return "refused"
	}
	t.Errorf("%+v: %s", k, r.Why)
	return "?"
}

// cells fills the table, two runs at a time.
func cells(t *testing.T, keys []cellKey) map[cellKey]string {
	all := map[cellKey]string{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan cellKey)
	for range 2 {
		wg.Go(func() {
			for k := range next {
				text := cell(t, k)
				mu.Lock()
				all[k] = text
				mu.Unlock()
			}
		})
	}
	for _, k := range keys {
		next <- k
	}
	close(next)
	wg.Wait()
	return all
}

// tableWriters is all but key_atomic_renewed, whose process remembers what it has
// claimed beside a renewer that may come at any time: too many states for a table.
func tableWriters() []string {
	return slices.DeleteFunc(writerNames(), func(w string) bool { return w == "key_atomic_renewed" })
}

func writerTable(t *testing.T) string {
	faults, heads := tableFaults()
	var keys []cellKey
	sources := []model.KeySource{model.KeyNone, model.KeyPerAttempt, model.KeyToolCall}
	for _, w := range tableWriters() {
		for _, source := range sources {
			for _, f := range faults {
				for _, store := range stores {
					keys = append(keys, cellKey{w, source, f, store})
					if w == "key_split" || w == "unique" {
						keys = append(keys, cellKey{w, model.KeyBusiness, f, store})
					}
				}
			}
		}
	}
	all := cells(t, keys)
	for k, text := range all {
		if k.key == model.KeyBusiness && all[cellKey{k.writer, model.KeyToolCall, k.fault, k.store}] != text {
			t.Errorf("%+v: %s, unlike with keys of tool calls", k, text)
		}
	}
	var b strings.Builder
	for _, source := range sources {
		fmt.Fprintf(&b, "### Keys: %s\n\n| writer | %s |\n|---|%s\n", source, strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
		for _, w := range tableWriters() {
			var row strings.Builder
			row.WriteString("| " + w)
			for _, f := range faults {
				memory, sqlite := all[cellKey{w, source, f, "memory"}], all[cellKey{w, source, f, "sqlite"}]
				if memory != sqlite {
					memory += " / " + sqlite
				}
				row.WriteString(" | " + memory)
			}
			b.WriteString(row.String() + " |\n")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestWriterTable: the tables in docs/writers.md say what the checker says.
func TestWriterTable(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it runs some 1,600 searches")
	}
	data, err := os.ReadFile(tablePath)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- tables: begin -->\n", "<!-- tables: end -->\n"
	head, rest, ok := strings.Cut(string(data), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s: the marks %q and %q were expected", tablePath, begin, end)
	}
	now := head + begin + writerTable(t) + end + tail
	if *update {
		if err := os.WriteFile(tablePath, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if now != string(data) {
		t.Errorf("%s is out of date: run go test ./cmd/explore -run TestWriterTable -update", tablePath)
	}
}
