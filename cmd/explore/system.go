package main

import (
	"fmt"
	"strings"

	"exactlyone"
	"exactlyone/model"
)

// stores are what can carry out a writer's statements.
var stores = []string{"memory"}

// backends open them; nil is the one that exactlyone has itself.
var backends = map[string]func(exactlyone.Store) (exactlyone.Backend, error){"memory": nil}

// newSystem is a built-in writer with its clients' keys and its store. A key
// source of "" means the writer's own, and is replaced by its name.
func newSystem(writer string, key *string, store string) (exactlyone.System, error) {
	var sys exactlyone.System
	open, ok := backends[store]
	if !ok {
		return sys, fmt.Errorf("store %q: one of %s was expected", store, strings.Join(stores, ", "))
	}
	for _, b := range exactlyone.Builtins {
		if b.Name != writer {
			continue
		}
		if *key == "" {
			*key = string(b.DefaultKey())
		}
		source, err := model.ParseKeySource(*key)
		if err != nil {
			return sys, err
		}
		sys = b.System(source)
		sys.Backend = open
		return sys, nil
	}
	return sys, fmt.Errorf("writer %q: one of %s was expected", writer, strings.Join(writerNames(), ", "))
}

func writerNames() []string {
	var names []string
	for _, b := range exactlyone.Builtins {
		names = append(names, b.Name)
	}
	return names
}
