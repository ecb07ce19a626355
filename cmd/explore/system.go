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

// newSystem is a built-in writer with its clients' keys and its store. A key
// source of "" means the writer's own, and is replaced by its name. An
// isolation of "" is the store's own; only memory has others. A workload of "" is
// the same report from all clients.
func newSystem(writer string, key *string, store, isolation, workload string) (exactlyone.System, error) {
	open, err := backend(store)
	if err != nil {
		return exactlyone.System{}, err
	}
	if isolation != "" {
		level, err := exactlyone.ParseIsolation(isolation)
		if err != nil {
			return exactlyone.System{}, err
		}
		if store != "memory" {
			return exactlyone.System{}, fmt.Errorf("isolation %s: the store memory was expected, not %s, whose transactions are always serial", level, store)
		}
		open = exactlyone.MemoryAt(level)
	}
	load, err := exactlyone.ParseWorkload(workload)
	if err != nil {
		return exactlyone.System{}, err
	}
	sys, source, err := exactlyone.NewBuiltin(writer, *key)
	if err != nil {
		return exactlyone.System{}, err
	}
	*key = string(source)
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
