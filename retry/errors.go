package retry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
)

// Error is an error whose class its maker knows, e.g. one that must not be
// retried. It may be wrapped.
type Error struct {
	Class
	Err error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// ClassifyError tells what an error means, wrapped or not. An error that joins
// several is as bad as the worst of them, and means that the request was not
// carried out only if all of them do.
//
// It takes the error for that of a single request. [net/http.Client] follows
// redirects: when it cannot connect for the second request, the first may have
// had its effect. [Transport] sees each request by itself.
func ClassifyError(err error) Class {
	if err == nil {
		return Class{Kind: KindOK}
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if c, ok := classifyOne(e); ok {
			return c
		}
		if joined, ok := e.(interface{ Unwrap() []error }); ok {
			return worst(joined.Unwrap())
		}
	}
	return Class{Kind: KindUnknown}
}

// severity orders kinds for errors that are joined.
var severity = []Kind{
	KindOK, KindRetryable, KindRateLimit, KindUpstream, KindTimeout, KindUnknown, KindNotFound, KindAuth, KindNonRetryable,
}

func worst(errs []error) Class {
	all := Class{Kind: KindOK, NotDone: true}
	for _, err := range errs {
		if err == nil {
			continue
		}
		c := ClassifyError(err)
		all.NotDone = all.NotDone && c.NotDone
		if slices.Index(severity, c.Kind) > slices.Index(severity, all.Kind) {
			all.Kind = c.Kind
		}
	}
	if all.Kind == KindOK {
		return Class{Kind: KindUnknown}
	}
	return all
}

// classifyOne looks at one link of a chain of errors, from the outside in. So
// what is known about the whole, e.g. that dialling failed, counts for more than
// its cause.
func classifyOne(err error) (c Class, ok bool) {
	switch e := err.(type) {
	case *Error:
		return e.Class, true
	case *OutcomeError: // of retries below these: what counts is all its attempts
		return Class{e.Outcome.Class.Kind, e.Outcome.Kind == Refused}, true
	}
	if c, ok := classifyTLS(err); ok {
		return c, true
	}
	switch e := err.(type) {
	case *net.DNSError:
		switch {
		case e.IsNotFound:
			return Class{KindNotFound, true}, true
		case e.IsTimeout:
			return Class{KindTimeout, true}, true
		}
		return Class{KindRetryable, true}, true
	case *net.OpError:
		return classifyOp(e)
	case syscall.Errno:
		return classifyErrno(e)
	}
	switch err {
	case context.DeadlineExceeded:
		return Class{KindTimeout, false}, true
	case context.Canceled:
		return Class{KindNonRetryable, false}, true
	case http.ErrSchemeMismatch: // what net/http makes of a tls.RecordHeaderError
		return Class{KindNonRetryable, true}, true
	case io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed:
		return Class{KindUpstream, false}, true
	}
	// Wrappers such as url.Error answer for their cause, which tells more.
	if e, is := err.(net.Error); is && e.Timeout() && errors.Unwrap(err) == nil {
		// net/http gives the time-out of a handshake no name of its own.
		return Class{KindTimeout, strings.HasSuffix(err.Error(), "TLS handshake timeout")}, true
	}
	return Class{}, false
}

// beforeSending are the operations of a net.OpError that come before the first
// byte of a request.
var beforeSending = []string{"dial", "proxyconnect", "socks connect"}

func classifyOp(e *net.OpError) (c Class, ok bool) {
	if !slices.Contains(beforeSending, e.Op) {
		if e.Timeout() {
			return Class{KindTimeout, false}, true
		}
		if inner := ClassifyError(e.Err); inner.Kind != KindUnknown {
			// Sent something: even "connection refused" proves nothing here,
			// except for what only a handshake can say.
			_, handshake := e.Err.(tls.AlertError)
			return Class{inner.Kind, inner.NotDone && (handshake || e.Op == "remote error")}, true
		}
		return Class{KindUpstream, false}, true
	}
	kind := ClassifyError(e.Err).Kind
	if kind == KindUnknown || kind == KindUpstream {
		kind = KindRetryable
	}
	return Class{kind, true}, true
}

func classifyErrno(e syscall.Errno) (c Class, ok bool) {
	switch {
	case e == syscall.ECONNREFUSED:
		return Class{KindRetryable, true}, true
	case e.Timeout():
		return Class{KindTimeout, false}, true
	case e == syscall.ECONNRESET, e == syscall.ECONNABORTED, e == syscall.EPIPE:
		return Class{KindUpstream, false}, true
	}
	return Class{}, false
}

// handshakeAlerts are the alerts that only a handshake ends with (RFC 8446,
// section 6.2, and RFC 5246, section 7.2.2).
var handshakeAlerts = []tls.AlertError{
	40,                         // handshake_failure
	42, 43, 44, 45, 46, 48, 49, // of certificates, access_denied
	70, 71, // protocol_version, insufficient_security
	109, 110, 112, 113, 115, 116, 120, // of extensions, certificate_required, no_application_protocol
}

// classifyTLS knows the errors of a handshake. Certificates and versions do not
// get better by trying again.
func classifyTLS(err error) (c Class, ok bool) {
	switch e := err.(type) {
	case *tls.CertificateVerificationError, x509.UnknownAuthorityError, x509.HostnameError,
		x509.CertificateInvalidError, x509.SystemRootsError, tls.RecordHeaderError, *tls.ECHRejectionError:
		return Class{KindNonRetryable, true}, true
	case tls.AlertError:
		if slices.Contains(handshakeAlerts, e) {
			return Class{KindNonRetryable, true}, true
		}
		return Class{KindUpstream, false}, true
	}
	return Class{}, false
}
