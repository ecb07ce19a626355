package retry

import (
	"net/http"
	"time"
)

// Kind says what sort of end an attempt came to.
type Kind string

// The kinds. All but the first and the three that say so may be retried.
const (
	KindOK           Kind = "ok"            // it was carried out
	KindTimeout      Kind = "timeout"       // nothing came back in time, or a gateway says so
	KindUpstream     Kind = "upstream"      // the server or the connection to it broke
	KindRateLimit    Kind = "rate_limit"    // too many requests
	KindAuth         Kind = "auth"          // not allowed; never retried
	KindNotFound     Kind = "not_found"     // no such thing or host; never retried
	KindNonRetryable Kind = "non_retryable" // will fail again; never retried
	KindRetryable    Kind = "retryable"     // not now: no connection, too early, still running
	KindUnknown      Kind = "unknown"       // not recognised
)

// Kinds lists them all.
var Kinds = []Kind{
	KindOK, KindTimeout, KindUpstream, KindRateLimit, KindAuth,
	KindNotFound, KindNonRetryable, KindRetryable, KindUnknown,
}

// Retried says whether an attempt that ended so may be followed by another one,
// provided that a repetition does no harm.
func (k Kind) Retried() bool {
	switch k {
	case KindTimeout, KindUpstream, KindRateLimit, KindRetryable, KindUnknown:
		return true
	}
	return false
}

// Class is what the end of one attempt means.
type Class struct {
	Kind Kind
	// NotDone says that the request was certainly not carried out: it never
	// left, or the server says that it did not act on it. False means that it
	// may have been, however little came back.
	NotDone bool
}

// Call is what is to be done, as far as it matters for doing it again. The zero
// value is the most dangerous one: an effect each time, and no key.
type Call struct {
	// Safe declares that it changes nothing (GET, HEAD, OPTIONS, TRACE).
	Safe bool
	// Idempotent declares that doing it twice is as good as once (PUT, DELETE).
	Idempotent bool
	// Key is the idempotency key that every attempt carries. A key is a promise
	// that the server acts on it: one that ignores it acts twice.
	Key string
	// NewKey makes the key if Key is "". It is called once, before the first
	// attempt. Nil means that no key is sent.
	NewKey func() string
}

// MethodCall is the call that an HTTP method makes (RFC 9110, section 9.2);
// unknown methods are taken for the most dangerous.
func MethodCall(method string) Call {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, "":
		return Call{Safe: true, Idempotent: true}
	case http.MethodPut, http.MethodDelete:
		return Call{Idempotent: true}
	}
	return Call{}
}

// Harmless says whether the call may be repeated although it may have been
// carried out: it is safe, idempotent, or carries a key.
func (c Call) Harmless() bool { return c.Safe || c.Idempotent || c.Key != "" }

// Result is how one attempt ended.
type Result struct {
	Status     int    // of the HTTP answer; 0 if there was none
	RetryAfter string // its Retry-After field, "" if there is none
	Err        error  // why there was no answer; where it is set, Status does not count
}

// Classify tells what a result means. Where there is no error and no status, it
// was carried out.
func Classify(c Call, r Result) Class {
	switch {
	case r.Err != nil:
		return ClassifyError(r.Err)
	case r.Status == 0:
		return Class{Kind: KindOK}
	}
	_, asked := ParseRetryAfter(r.RetryAfter, time.Time{}, 0)
	return ClassifyStatus(r.Status, asked, c.Key != "")
}

// ClassifyStatus tells what an HTTP status means. 503 counts as not carried out
// only with a Retry-After field that can be read: gateways also answer 503 when they lost the
// server after it was given the request. 409 is retried only if a key was sent:
// it then means that an earlier attempt is still running
// (draft-ietf-httpapi-idempotency-key-header, section 2.7).
func ClassifyStatus(status int, retryAfter, keyed bool) Class {
	switch status {
	case http.StatusNotModified:
		return Class{KindOK, false}
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusNetworkAuthenticationRequired:
		return Class{KindAuth, true}
	case http.StatusNotFound, http.StatusGone:
		return Class{KindNotFound, true}
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return Class{KindTimeout, false}
	case http.StatusConflict:
		if keyed {
			return Class{KindRetryable, false}
		}
		return Class{KindNonRetryable, true}
	case http.StatusTooEarly: // RFC 8470: the server did not want to risk it
		return Class{KindRetryable, true}
	case http.StatusTooManyRequests: // RFC 6585, section 4
		return Class{KindRateLimit, true}
	case http.StatusServiceUnavailable:
		return Class{KindUpstream, retryAfter}
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return Class{KindNonRetryable, true}
	case http.StatusVariantAlsoNegotiates, http.StatusLoopDetected, http.StatusNotExtended:
		return Class{KindNonRetryable, false}
	}
	switch status / 100 {
	case 2:
		return Class{KindOK, false}
	case 1, 3: // a redirect may come after the effect, as 303 does
		return Class{KindNonRetryable, false}
	case 4:
		return Class{KindNonRetryable, true}
	case 5: // RFC 9110, section 15: an unknown one counts as 500
		return Class{KindUpstream, false}
	}
	return Class{KindUnknown, false}
}
