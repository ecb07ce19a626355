package main

import (
	"fmt"
	"strings"

	"exactlyone"
	"exactlyone/sqlitestore"
)

// stores are what can carry out a writer's statements.
var stores = []string{"memory", "sqlite"}

// backends open them; nil is the one that exactlyone has itself.
var backends = map[string]func(exactlyone.Store) (exactlyone.Backend, error){"memory": nil, "sqlite": sqlitestore.Open}

// backend opens the store of that name; nil is the one that exactlyone has itself.
func backend(store string) (func(exactlyone.Store) (exactlyone.Backend, error), error) {
	open, ok := backends[store]
	if !ok {
		return nil, fmt.Errorf("--store %q: one of %s was expected", store, strings.Join(stores, ", "))
	}
	return open, nil
}

// newSystem is a built-in writer with its clients' keys, what they submit, and its
// store. The origin is replaced by the one that a trace holds: with the name of
// the writer's own key source in place of "", and "" for the same report from all
// clients.
func newSystem(writer string, from *exactlyone.Origin) (exactlyone.System, error) {
	open, err := backend(from.Store)
	if err != nil {
		return exactlyone.System{}, err
	}
	if from.Isolation != "" {
		level, err := exactlyone.ParseIsolation(string(from.Isolation))
		if err != nil {
			return exactlyone.System{}, err
		}
		if from.Store != "memory" {
			return exactlyone.System{}, fmt.Errorf("isolation %s: the store memory was expected, not %s, whose transactions are always serial", level, from.Store)
		}
		open = exactlyone.MemoryAt(level)
	}
	load, err := exactlyone.ParseWorkload(string(from.Workload))
	if err != nil {
		return exactlyone.System{}, err
	}
	if from.Workload = load; load == exactlyone.SameReport {
		from.Workload = ""
	}
	sys, source, err := exactlyone.NewBuiltin(writer, from.Key)
	if err != nil {
		return exactlyone.System{}, err
	}
	from.Key = string(source)
	sys.Backend = open
	load.Apply(&sys)
	return sys, nil
}

func writerNames() []string {
	var names []string
	for _, b := range exactlyone.Builtins {
		names = append(names, b.Name)
	}
	return names
}

func workloadNames() []string {
	var names []string
	for _, w := range exactlyone.Workloads {
		names = append(names, string(w))
	}
	return names
}
