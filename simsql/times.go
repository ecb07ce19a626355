package simsql

import (
	"database/sql/driver"
	"slices"
	"strings"
	"time"

	"exactlyone/clock"
)

// years is how far from clock.Epoch a number or a text may lie and still be
// taken for a time.
const years = 10 * 365 * 24 * time.Hour

// timeIn is the time that a value may stand for: a time.Time, a text as RFC 3339,
// SQLite or Go write times, or the seconds, milliseconds, microseconds or
// nanoseconds since 1970.
func timeIn(v driver.Value) (time.Time, bool) {
	switch v := v.(type) {
	case time.Time:
		return near(v)
	case int64:
		if !mayBeTime(v) {
			break
		}
		for _, t := range []time.Time{time.Unix(v, 0), time.UnixMilli(v), time.UnixMicro(v), time.Unix(0, v)} {
			if t, ok := near(t); ok {
				return t, true
			}
		}
	case []byte:
		return timeIn(string(v))
	case string:
		return timeInText(v)
	}
	return time.Time{}, false
}

func near(t time.Time) (time.Time, bool) {
	d := t.Sub(clock.Epoch)
	return t.UTC(), -years < d && d < years
}

// layouts are the texts that are taken for times.
var layouts = []string{
	time.RFC3339Nano,
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999",
	"2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999 -0700 MST",
}

// mayBeTime says whether a number is large enough.
func mayBeTime(v int64) bool { return v > 1e9 }

// looksLikeTime says whether a text begins as a time does.
func looksLikeTime[T string | []byte](s T) bool {
	return len(s) >= len("2006-01-02 15:04:05") && len(s) <= 80 && s[4] == '-' && s[7] == '-'
}

// timesIn is the times that values may stand for, each once.
func timesIn(values []driver.Value) (all []time.Time) {
	for _, v := range values {
		if t, ok := timeIn(v); ok && !slices.ContainsFunc(all, t.Equal) {
			all = append(all, t)
		}
	}
	return all
}

func timeInText(s string) (time.Time, bool) {
	if !looksLikeTime(s) {
		return time.Time{}, false
	}
	if i := strings.Index(s, " m="); i > 0 {
		s = s[:i]
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			return near(t)
		}
	}
	return time.Time{}, false
}
