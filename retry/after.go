package retry

import (
	"net/http"
	"strings"
	"time"
)

// ParseRetryAfter reads a Retry-After field (RFC 9110, section 10.2.3): a number
// of seconds, or an HTTP date in any of its three forms, which it takes as a
// distance from now. The wait is between 0 and limit, however large the number
// or far the date; a limit below 0 counts as 0. Ok is false, and the wait 0, if
// the field has neither form.
func ParseRetryAfter(field string, now time.Time, limit time.Duration) (wait time.Duration, ok bool) {
	field = strings.Trim(field, " \t")
	limit = max(0, limit)
	if field == "" {
		return 0, false
	}
	if strings.Trim(field, "0123456789") == "" {
		for _, digit := range field {
			units := time.Duration(digit-'0') * time.Second
			if units > limit || wait > (limit-units)/10 { // 10·wait + units may overflow
				return limit, true
			}
			wait = 10*wait + units
		}
		return wait, true
	}
	date, err := http.ParseTime(field)
	if err != nil {
		return 0, false
	}
	return min(limit, max(0, date.Sub(now))), true // Sub saturates
}
