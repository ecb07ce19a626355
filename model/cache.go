package model

import (
	"context"
	"sync"
)

// Cache keeps the answers in the memory of its process. With a lock it is right
// as long as there is one process that never ends; without one, two requests at
// once file two reports. Its flaw is either way that memory is not shared by two
// processes and gone after a crash.
type Cache struct {
	Store Store
	Lock  sync.Locker // held while a request runs; nil means none

	mu      sync.Mutex // guards answers, and is never held while the store is used
	answers map[string]cached
}

type cached struct {
	fingerprint string
	answer      Answer
}

// NewCache is a process that has answered nothing yet.
func NewCache(store Store, lock sync.Locker) *Cache {
	return &Cache{Store: store, Lock: lock, answers: map[string]cached{}}
}

// Handle files the report unless this process remembers that it did.
func (w *Cache) Handle(ctx context.Context, req Request) Answer {
	if req.Key == "" {
		return answerNoKey
	}
	if w.Lock != nil {
		w.Lock.Lock()
		defer w.Lock.Unlock()
	}
	if c, ok := w.known(req.Key); ok {
		if c.fingerprint != req.Fingerprint() {
			return answerOtherBody
		}
		return c.answer.Replay()
	}
	res, err := w.Store.Do(ctx, Insert("reports", Set("body", req.Body)))
	if err != nil {
		return answerStoreError
	}
	answer := Created(res.ID)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers[req.Key] = cached{req.Fingerprint(), answer}
	return answer
}

func (w *Cache) known(key string) (cached, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.answers[key]
	return c, ok
}
