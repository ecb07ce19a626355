package retry_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"exactlyone/retry"
)

func op(name string, err error) error { return &net.OpError{Op: name, Net: "tcp", Err: err} }

func errno(e syscall.Errno) error { return os.NewSyscallError("syscall", e) }

// errorCases are the errors that docs/retry.md lists, as the standard library
// makes them.
var errorCases = []struct {
	what string
	err  error
	want retry.Class
}{
	{"the name has no address", op("dial", &net.DNSError{IsNotFound: true}), retry.Class{Kind: retry.KindNotFound, NotDone: true}},
	{"the name server does not answer", op("dial", &net.DNSError{IsTimeout: true}), retry.Class{Kind: retry.KindTimeout, NotDone: true}},
	{"the name server fails", op("dial", &net.DNSError{IsTemporary: true}), retry.Class{Kind: retry.KindRetryable, NotDone: true}},
	{"connection refused", op("dial", errno(syscall.ECONNREFUSED)), retry.Class{Kind: retry.KindRetryable, NotDone: true}},
	{"no route, no network", op("dial", errno(syscall.EHOSTUNREACH)), retry.Class{Kind: retry.KindRetryable, NotDone: true}},
	{"dialling takes too long", op("dial", os.ErrDeadlineExceeded), retry.Class{Kind: retry.KindTimeout, NotDone: true}},
	{"the proxy cannot be reached", op("proxyconnect", errno(syscall.ECONNRESET)), retry.Class{Kind: retry.KindRetryable, NotDone: true}},
	{"TLS handshake: certificate not trusted", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, retry.Class{Kind: retry.KindNonRetryable, NotDone: true}},
	{"TLS handshake: wrong host name", x509.HostnameError{Certificate: new(x509.Certificate)}, retry.Class{Kind: retry.KindNonRetryable, NotDone: true}},
	{"TLS handshake: the server speaks no TLS", tls.RecordHeaderError{}, retry.Class{Kind: retry.KindNonRetryable, NotDone: true}},
	{"TLS handshake: refused by an alert", op("remote error", tls.AlertError(40)), retry.Class{Kind: retry.KindNonRetryable, NotDone: true}},
	{"TLS alert at any other time", op("remote error", tls.AlertError(80)), retry.Class{Kind: retry.KindUpstream}},
	{"the server closed the connection", io.EOF, retry.Class{Kind: retry.KindUpstream}},
	{"in the middle of the answer", io.ErrUnexpectedEOF, retry.Class{Kind: retry.KindUpstream}},
	{"connection reset", op("read", errno(syscall.ECONNRESET)), retry.Class{Kind: retry.KindUpstream}},
	{"broken pipe", op("write", errno(syscall.EPIPE)), retry.Class{Kind: retry.KindUpstream}},
	{"refused, but while reading", op("read", errno(syscall.ECONNREFUSED)), retry.Class{Kind: retry.KindRetryable}},
	{"reading takes too long", op("read", os.ErrDeadlineExceeded), retry.Class{Kind: retry.KindTimeout}},
	{"context deadline exceeded", context.DeadlineExceeded, retry.Class{Kind: retry.KindTimeout}},
	{"context cancelled", context.Canceled, retry.Class{Kind: retry.KindNonRetryable}},
	{"anything else", errors.New("x"), retry.Class{Kind: retry.KindUnknown}},
}

// TestErrorTable: every error, bare and wrapped, is what docs/retry.md says.
func TestErrorTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("| Error | Kind | Certainly not carried out | Retried |\n|---|---|---|---|\n")
	for _, tt := range errorCases {
		for how, err := range map[string]error{
			"bare":    tt.err,
			"wrapped": fmt.Errorf("submit: %w", fmt.Errorf("again: %w", tt.err)),
			"url":     &url.Error{Op: "Post", URL: "/", Err: tt.err},
			"joined":  errors.Join(nil, tt.err),
		} {
			if diff := cmp.Diff(tt.want, retry.ClassifyError(err)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", tt.what, how, diff)
			}
		}
		not := ""
		if tt.want.NotDone {
			not = "yes"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", tt.what, tt.want.Kind, not, again(tt.want, false))
	}
	document(t, "errors", b.String())
}

// TestJoinedErrors: as bad as the worst, and not carried out only if all say so.
func TestJoinedErrors(t *testing.T) {
	refused := op("dial", errno(syscall.ECONNREFUSED))
	mine := &retry.Error{Class: retry.Class{Kind: retry.KindAuth, NotDone: true}, Err: errors.New("logged out")}
	for _, tt := range []struct {
		err  error
		want retry.Class
	}{
		{nil, retry.Class{Kind: retry.KindOK}},
		{errors.Join(refused, refused), retry.Class{Kind: retry.KindRetryable, NotDone: true}},
		{errors.Join(refused, io.EOF), retry.Class{Kind: retry.KindUpstream}},
		{errors.Join(io.EOF, refused), retry.Class{Kind: retry.KindUpstream}},
		{fmt.Errorf("%w and %w", refused, errors.New("x")), retry.Class{Kind: retry.KindUnknown}},
		{fmt.Errorf("%w and %w", refused, mine), retry.Class{Kind: retry.KindAuth, NotDone: true}},
		{fmt.Errorf("submit: %w", mine), mine.Class},
	} {
		if diff := cmp.Diff(tt.want, retry.ClassifyError(tt.err)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.err, diff)
		}
	}
}

// TestRealErrors: what net/http really returns.
func TestRealErrors(t *testing.T) {
	get := func(client *http.Client, url string) error {
		t.Helper()
		resp, err := client.Get(url)
		if err == nil {
			_ = resp.Body.Close()
			t.Fatalf("%s answered", url)
		}
		return err
	}
	serve := func(start func(*httptest.Server), h http.HandlerFunc) *httptest.Server {
		s := httptest.NewUnstartedServer(h)
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		start(s)
		t.Cleanup(s.Close)
		return s
	}
	gone := serve((*httptest.Server).Start, nil)
	gone.Close()
	aborts := serve((*httptest.Server).Start, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	secure := serve((*httptest.Server).StartTLS, nil)
	offline := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{Resolver: &net.Resolver{
		PreferGo: true,
		Dial:     func(context.Context, string, string) (net.Conn, error) { return nil, errno(syscall.ENETUNREACH) },
	}}).DialContext}}
	for _, tt := range []struct {
		what string
		err  error
		want retry.Class
	}{
		{"refused", get(http.DefaultClient, gone.URL), retry.Class{Kind: retry.KindRetryable, NotDone: true}},
		{"closed", get(http.DefaultClient, aborts.URL), retry.Class{Kind: retry.KindUpstream}},
		{"certificate", get(http.DefaultClient, secure.URL), retry.Class{Kind: retry.KindNonRetryable, NotDone: true}},
		{"no TLS", get(http.DefaultClient, strings.Replace(aborts.URL, "http:", "https:", 1)), retry.Class{Kind: retry.KindNonRetryable, NotDone: true}},
		{"DNS", get(offline, "http://host.invalid/"), retry.Class{Kind: retry.KindRetryable, NotDone: true}},
	} {
		if diff := cmp.Diff(tt.want, retry.ClassifyError(tt.err)); diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.what, tt.err, diff)
		}
	}
}

// TestHandshakeTimeout: net/http's time-out of a handshake, which has no type.
func TestHandshakeTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer func() { _ = there.Close() }()
		go func() { _, _ = io.Copy(io.Discard, there) }() // and never answers
		tr := &http.Transport{
			TLSHandshakeTimeout: time.Second,
			DialContext:         func(context.Context, string, string) (net.Conn, error) { return here, nil },
		}
		_, err := (&http.Client{Transport: tr}).Get("https://host.invalid/")
		want := retry.Class{Kind: retry.KindTimeout, NotDone: true}
		if diff := cmp.Diff(want, retry.ClassifyError(err)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}
