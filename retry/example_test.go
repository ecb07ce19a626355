package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"time"

	"exactlyone/clock"
	"exactlyone/retry"
)

// A request that was certainly not sent is sent again; one that may have been
// carried out is not, and the caller is told to look.
func ExampleDo() {
	policy := retry.Policy{
		Clock:    instant{new(clock.Virtual)}, // in production leave it out
		Attempts: 4,
		Backoff:  retry.Backoff{Strategy: retry.Full, Base: 100 * time.Millisecond, Cap: 2 * time.Second},
		Deadline: 30 * time.Second,
	}
	ends := []error{fmt.Errorf("dial: %w", syscall.ECONNREFUSED), io.ErrUnexpectedEOF}
	out := retry.Do(context.Background(), policy, retry.Call{}, func(_ context.Context, a retry.Attempt) retry.Result {
		return retry.Result{Err: ends[a.N-1]}
	})
	fmt.Println(out.Kind, "after", out.Attempts, "attempts:", out.Stop)
	fmt.Println(out.Advice())
	// Output:
	// unknown after 2 attempts: unsafe
	// It may have been carried out. Look before submitting again.
}

// With a key every attempt is harmless, provided that the server acts on it.
func ExampleTransport() {
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Idempotency-Key"))
		if len(seen) == 1 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()

	client := &http.Client{Transport: &retry.Transport{
		Policy: retry.Policy{Attempts: 3, Budget: retry.NewBudget(retry.BudgetConfig{})},
		NewKey: func() string { return retry.ToolCallKey("run-1", "call-1") },
	}}
	resp, err := client.Post(server.URL, "application/json", strings.NewReader(`{"title":"Login fails"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = resp.Body.Close()
	fmt.Println(resp.StatusCode, seen)
	// Output: 200 [run-1:call-1 run-1:call-1]
}

func ExampleBusiness_Key() {
	a, _ := retry.Business{Session: "s-1", Tool: "file_bug", Arguments: `{"title": "Login fails", "severity": 2}`}.Key()
	b, _ := retry.Business{Session: "s-1", Tool: "file_bug", Arguments: `{"severity":2.0,"title":"Login fails"}`}.Key()
	c, _ := retry.Business{Session: "s-2", Tool: "file_bug", Arguments: `{"severity":2.0,"title":"Login fails"}`}.Key()
	fmt.Println(len(a), a == b, b == c)
	// Output: 64 true false
}

func ExampleCanonical() {
	form, err := retry.Canonical([]byte(`{ "id": 9007199254740993, "at": 1.50e2, "A": "\u0061" }`))
	fmt.Println(string(form), err)
	_, err = retry.Canonical([]byte(`{"a":1,"a":2}`))
	fmt.Println(errors.Is(err, retry.ErrDuplicate))
	// Output:
	// {"A":"a","at":150,"id":9007199254740993} <nil>
	// true
}

func ExampleCache() {
	cache := retry.NewCache[string](retry.CacheConfig{Entries: 100, Age: time.Minute})
	list := func() (string, error) { fmt.Println("asks the tracker"); return "BUG-1", nil }
	for _, call := range []struct {
		tool     string
		readOnly bool
	}{{"list_bugs", true}, {"list_bugs", true}, {"file_bug", false}, {"list_bugs", true}} {
		_, hit, _ := cache.Do(call.tool, call.readOnly, list)
		fmt.Println(call.tool, hit)
	}
	// Output:
	// asks the tracker
	// list_bugs false
	// list_bugs true
	// asks the tracker
	// file_bug false
	// asks the tracker
	// list_bugs false
}
