package interleave

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

var bubbleStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

type text string

func (t text) String() string { return string(t) }

// stands prints where task i stands.
func stands(b *Bubble, i int) string {
	s := b.Standing(i)
	return fmt.Sprintf("%v %v", s.Asks, s.Result)
}

func TestBubbleAsks(t *testing.T) {
	for _, polls := range []bool{false, true} {
		b := NewBubble(bubbleStart, polls, func(*Bubble) {})
		b.Go(0, func(ctx context.Context) fmt.Stringer {
			x, _ := b.Ask(ctx, text("one"))
			y, _ := b.Ask(ctx, text("two"))
			return text(fmt.Sprint(x, y, time.Now().UTC().Sub(bubbleStart)))
		})
		if got := stands(b, 0); got != "[one] <nil>" {
			t.Fatal(got)
		}
		b.Resume(0, 0, 1)
		b.Advance(bubbleStart.Add(time.Minute))
		if got := stands(b, 0); got != "[two] <nil>" {
			t.Fatal(got)
		}
		b.Resume(0, 0, 2)
		if got := stands(b, 0); got != "[] 1 2 1m0s" {
			t.Fatal(got)
		}
		if left := b.Kill(func() {}); left {
			t.Fatal("goroutines are left")
		}
	}
}

// TestBubbleGoroutines: goroutines of one task stand in the order in which they
// were started.
func TestBubbleGoroutines(t *testing.T) {
	for _, polls := range []bool{false, true} {
		b := NewBubble(bubbleStart, polls, func(*Bubble) {})
		b.Go(0, func(ctx context.Context) fmt.Stringer {
			var wg sync.WaitGroup
			for i := range 5 {
				wg.Go(func() {
					_, _ = b.Ask(ctx, text(fmt.Sprint("child ", i)))
				})
			}
			wg.Wait()
			return text("all")
		})
		for i := range 5 {
			want := fmt.Sprint("child ", i)
			if got := b.Standing(0).Asks; len(got) != 5-i || got[0].String() != want {
				t.Fatalf("polls %t: %v, want %s first", polls, got, want)
			}
			b.Resume(0, 0, nil)
		}
		if got := stands(b, 0); got != "[] all" {
			t.Fatal(got)
		}
		b.Kill(func() {})
	}
}

func TestBubbleTime(t *testing.T) {
	b := NewBubble(bubbleStart, false, func(*Bubble) {})
	b.Go(0, func(ctx context.Context) fmt.Stringer {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_, err := b.Ask(ctx, text("slow"))
		time.Sleep(time.Second)
		_, _ = b.Ask(context.Background(), text("after"))
		return text(fmt.Sprint(err))
	})
	b.Advance(bubbleStart.Add(5*time.Second - 1))
	if got := stands(b, 0); got != "[slow] <nil>" {
		t.Fatal(got)
	}
	b.Advance(bubbleStart.Add(5 * time.Second))
	if got := stands(b, 0); got != "[] <nil>" {
		t.Fatal(got)
	}
	at, ok := b.Wake(time.Hour)
	if !ok || !at.Equal(bubbleStart.Add(6*time.Second-1)) { // who waits is told just before
		t.Fatal(at, ok)
	}
	b.Resume(0, 0, nil)
	if got := stands(b, 0); got != "[] context deadline exceeded" {
		t.Fatal(got)
	}
	if _, ok := b.Wake(time.Hour); ok {
		t.Fatal("something happened")
	}
	b.Kill(func() {})
}

// TestBubbleMutex: a bubble that waits for all to block durably cannot be used once
// a goroutine waits for a mutex; one that polls can.
func TestBubbleMutex(t *testing.T) {
	for _, polls := range []bool{false, true} {
		var mu sync.Mutex
		b := NewBubble(bubbleStart, polls, func(*Bubble) {})
		body := func(ctx context.Context) fmt.Stringer {
			mu.Lock()
			defer mu.Unlock()
			_, _ = b.Ask(ctx, text("locked"))
			return text("done")
		}
		b.Go(0, body)
		err := func() (err error) {
			defer func() { err, _ = recover().(error) }()
			b.Go(1, body)
			return nil
		}()
		if !polls {
			if !errors.Is(err, ErrContended) {
				t.Fatal(err)
			}
			continue
		}
		if got := fmt.Sprintf("%v %v %s", err, b.Waiting(), stands(b, 1)); got != "<nil> [1] [] <nil>" {
			t.Fatal(got)
		}
		b.Resume(0, 0, nil)
		if got := stands(b, 0) + stands(b, 1); got != "[] done[locked] <nil>" {
			t.Fatal(got)
		}
		b.Kill(func() {})
	}
}

func TestBubbleSetUp(t *testing.T) {
	for want, setUp := range map[string]func(b *Bubble){
		"it asks for x before the first request":    func(b *Bubble) { _, _ = b.Ask(context.Background(), text("x")) },
		"it waits for something that never happens": func(*Bubble) { <-make(chan int) },
		"oh": func(*Bubble) { panic("oh") },
	} {
		got := func() (r any) {
			defer func() { r = recover() }()
			NewBubble(bubbleStart, false, setUp)
			return nil
		}()
		if fmt.Sprint(got) != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}

func BenchmarkBubble(b *testing.B) {
	for b.Loop() {
		u := NewBubble(bubbleStart, false, func(*Bubble) {})
		u.Go(0, func(ctx context.Context) fmt.Stringer {
			for range 4 {
				_, _ = u.Ask(ctx, text("x"))
			}
			return text("")
		})
		for range 4 {
			u.Resume(0, 0, nil)
		}
		u.Kill(func() {})
	}
}
