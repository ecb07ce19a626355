package retry_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"exactlyone/clock"
	"exactlyone/retry"
)

func TestParseRetryAfter(t *testing.T) {
	type result struct {
		Wait time.Duration
		OK   bool
	}
	for field, want := range map[string]result{
		"":                     {},
		" ":                    {},
		"0":                    {0, true},
		"7":                    {7 * time.Second, true},
		" 12\t":                {12 * time.Second, true},
		"0007":                 {7 * time.Second, true},
		"59":                   {59 * time.Second, true},
		"60":                   {time.Minute, true},
		"61":                   {time.Minute, true},
		"9223372037":           {time.Minute, true}, // overflows a Duration
		"99999999999999999999": {time.Minute, true}, // overflows an int64
		"-1":                   {},
		"+1":                   {},
		"1.5":                  {},
		"1 2":                  {},
		"soon":                 {},
		"١":                    {}, // a digit, but no ASCII
		// The three forms of a date in RFC 9110, section 5.6.7.
		"Thu, 01 Jan 2026 00:00:30 GMT":  {30 * time.Second, true},
		"Thursday, 01-Jan-26 00:00:30 G": {},
		"Thursday, 01-Jan-26 00:00:31 GMT": {
			31 * time.Second, true,
		},
		"Thu Jan  1 00:00:32 2026":      {32 * time.Second, true},
		"Thu, 01 Jan 2026 00:00:00 GMT": {0, true},
		"Wed, 31 Dec 2025 23:59:59 GMT": {0, true},
		"Mon, 01 Jan 0001 00:00:00 GMT": {0, true},
		"Fri, 31 Dec 9999 23:59:59 GMT": {time.Minute, true},
	} {
		wait, ok := retry.ParseRetryAfter(field, clock.Epoch, time.Minute)
		if diff := cmp.Diff(want, result{wait, ok}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", field, diff)
		}
	}
	for _, limit := range []time.Duration{0, 1, 5*time.Second - 1} {
		for _, field := range []string{"5", "50"} {
			if wait, ok := retry.ParseRetryAfter(field, clock.Epoch, limit); wait != limit || !ok {
				t.Errorf("%s within %v: %v, %v", field, limit, wait, ok)
			}
		}
	}
	if wait, ok := retry.ParseRetryAfter("5", clock.Epoch, -time.Second); wait != 0 || !ok {
		t.Errorf("with a limit below 0: %v, %v; want 0", wait, ok)
	}
}

// TestRetryAfterBounds: a number of seconds is that wait up to the limit, for
// any limit.
func TestRetryAfterBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := time.Duration(rapid.OneOf(
			rapid.Int64Range(0, 100*int64(time.Second)), rapid.Int64Range(math.MaxInt64-10, math.MaxInt64),
		).Draw(t, "limit"))
		digits := rapid.StringMatching(`[0-9]{1,25}`).Draw(t, "field")
		got, ok := retry.ParseRetryAfter(digits, clock.Epoch, limit)
		want := limit
		if short := strings.TrimLeft(digits, "0"); len(short) <= 9 {
			var n time.Duration
			for _, d := range short {
				n = 10*n + time.Duration(d-'0')
			}
			want = min(limit, n*time.Second)
		}
		if len(strings.TrimLeft(digits, "0")) == 10 && limit > 1e18 {
			return // around the overflow; the table and the fuzz target look there
		}
		if !ok || got != want {
			t.Errorf("%s within %d: %d, %v; want %d", digits, limit, got, ok, want)
		}
	})
}

// FuzzParseRetryAfter: no field makes a wait that is negative or beyond the
// limit, and none that is not understood makes any.
func FuzzParseRetryAfter(f *testing.F) {
	for _, field := range []string{"", "0", "120", "9223372036", "9223372037", "-1", "Fri, 31 Dec 1999 23:59:59 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"} {
		f.Add(field, int64(0), int64(time.Minute))
		f.Add(field, int64(math.MaxInt64), int64(math.MaxInt64))
		f.Add(field, int64(math.MinInt64), int64(-1))
	}
	f.Fuzz(func(t *testing.T, field string, now, limit int64) {
		wait, ok := retry.ParseRetryAfter(field, time.Unix(0, now), time.Duration(limit))
		if wait < 0 || wait > max(0, time.Duration(limit)) || !ok && wait != 0 {
			t.Errorf("%q at %d within %d: %d, %v", field, now, limit, wait, ok)
		}
	})
}
