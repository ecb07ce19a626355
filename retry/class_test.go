package retry_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"exactlyone/retry"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/retry.md; read the difference before committing it")

// document compares a part of docs/retry.md, between <!-- name --> and
// <!-- end -->, with what it should be.
func document(t *testing.T, name, want string) {
	t.Helper()
	const path = "../docs/retry.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), "<!-- "+name+" -->\n")
	got, after, ok2 := strings.Cut(rest, "<!-- end -->")
	if !ok || !ok2 {
		t.Fatalf("%s has no part %q", path, name)
	}
	if *update {
		got = want
		if err := os.WriteFile(path, []byte(before+"<!-- "+name+" -->\n"+want+"<!-- end -->"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s, %s (-code +document):\n%s", path, name, diff)
	}
}

// again says in the words of the document whether an attempt is followed by
// another one; an answer shows that it was sent.
func again(c retry.Class, answered bool) string {
	switch {
	case c.Kind == retry.KindOK:
		return "no: done"
	case !c.Kind.Retried():
		return "no"
	case c.NotDone && !answered:
		return "yes"
	}
	return "if harmless"
}

// TestStatusTable: every status is classified as docs/retry.md says.
func TestStatusTable(t *testing.T) {
	type row struct {
		class retry.Class
		extra string
	}
	var order []row
	statuses := map[row][]string{}
	add := func(status int, extra string, c retry.Class) {
		r := row{c, extra}
		if statuses[r] == nil {
			order = append(order, r)
		}
		statuses[r] = append(statuses[r], fmt.Sprint(status))
	}
	for status := 100; status < 600; status++ {
		if http.StatusText(status) == "" {
			continue
		}
		plain := retry.ClassifyStatus(status, false, false)
		add(status, "", plain)
		if c := retry.ClassifyStatus(status, true, false); c != plain {
			add(status, " with Retry-After", c)
		}
		if c := retry.ClassifyStatus(status, false, true); c != plain {
			add(status, " with a key", c)
		}
	}
	var b strings.Builder
	b.WriteString("| Status | Kind | Not carried out, it says | Retried |\n|---|---|---|---|\n")
	for _, r := range order {
		not := ""
		if r.class.NotDone {
			not = "yes"
		}
		fmt.Fprintf(&b, "| %s%s | %s | %s | %s |\n", strings.Join(statuses[r], ", "), r.extra, r.class.Kind, not, again(r.class, true))
	}
	document(t, "statuses", b.String())
}

// TestUnknownStatuses: those that no RFC names go by their first digit.
func TestUnknownStatuses(t *testing.T) {
	for status, want := range map[int]retry.Class{
		0:   {Kind: retry.KindUnknown},
		-1:  {Kind: retry.KindUnknown},
		99:  {Kind: retry.KindUnknown},
		199: {Kind: retry.KindNonRetryable},
		299: {Kind: retry.KindOK},
		399: {Kind: retry.KindNonRetryable},
		499: {Kind: retry.KindNonRetryable, NotDone: true},
		520: {Kind: retry.KindUpstream},
		600: {Kind: retry.KindUnknown},
	} {
		if diff := cmp.Diff(want, retry.ClassifyStatus(status, false, false)); diff != "" {
			t.Errorf("%d (-want +got):\n%s", status, diff)
		}
	}
}

func TestMethodCall(t *testing.T) {
	for method, want := range map[string]retry.Call{
		"":        {Safe: true, Idempotent: true},
		"GET":     {Safe: true, Idempotent: true},
		"HEAD":    {Safe: true, Idempotent: true},
		"OPTIONS": {Safe: true, Idempotent: true},
		"TRACE":   {Safe: true, Idempotent: true},
		"PUT":     {Idempotent: true},
		"DELETE":  {Idempotent: true},
		"POST":    {},
		"PATCH":   {},
		"CONNECT": {},
		"get":     {}, // methods are case-sensitive
	} {
		got := retry.MethodCall(method)
		if got.Safe != want.Safe || got.Idempotent != want.Idempotent || got.Key != "" || got.NewKey != nil {
			t.Errorf("%s: %+v, want %+v", method, got, want)
		}
		if got.Harmless() != (want.Safe || want.Idempotent) {
			t.Errorf("%s: harmless %v", method, got.Harmless())
		}
	}
	if !(retry.Call{Key: "k"}).Harmless() {
		t.Error("a call with a key is not harmless")
	}
}
