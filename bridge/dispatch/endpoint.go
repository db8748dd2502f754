package dispatch

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"brainbox/bridge/envelope"
)

// EndpointConfig says where an endpoint is. The zero value has none: every call is unavailable.
type EndpointConfig struct {
	URLEnv   string // name of the variable with the address
	TokenEnv string // the same with the bearer token; empty: no token

	// Timeout is the deadline of one call; 0 is 30 s, more than 10 min is that.
	Timeout time.Duration

	// Roots are the authorities that may have signed the certificate; nil: those of the system.
	Roots *x509.CertPool
}

// Endpoint is the dispatcher host_endpoint. It may be used by several goroutines.
type Endpoint struct {
	problem *Problem
	at      address
	token   string
	timeout time.Duration
	carrier *http.Transport
}

// NewEndpoint reads the variables, once. It does not fail: what is missing or wrong is the
// answer to every call, and in Problem for the operator.
func NewEndpoint(cfg EndpointConfig, getenv func(string) string) *Endpoint {
	e := &Endpoint{timeout: min(max(cfg.Timeout, 0), MaxTimeout)}
	if e.timeout == 0 {
		e.timeout = DefaultTimeout
	}
	missing := func(msg string) *Endpoint {
		e.problem = &Problem{Code: envelope.CodeDispatcherEnvMissing, Msg: msg}
		return e
	}
	if cfg.URLEnv == "" {
		return missing("no variable is named for the address")
	}
	text := getenv(cfg.URLEnv)
	if text == "" {
		return missing(cfg.URLEnv + " is not set")
	}
	if cfg.TokenEnv != "" {
		e.token = getenv(cfg.TokenEnv)
		if e.token == "" {
			return missing(cfg.TokenEnv + " is not set")
		}
		if !tokenOK(e.token) {
			e.token = ""
			return missing(cfg.TokenEnv + " has no token that could be sent")
		}
	}
	var code string
	if e.at, code = parseURL(text); code != "" {
		e.problem = &Problem{Code: code, Msg: "the value of " + cfg.URLEnv}
		return e
	}
	e.carrier = carrier(e.at.local, cfg.Roots)
	return e
}

// Problem is why every call is unavailable, or nil.
func (e *Endpoint) Problem() *Problem { return e.problem }

// Secrets are the values that must not be shown to anybody.
func (e *Endpoint) Secrets() []string {
	if e.token == "" {
		return nil
	}
	return []string{e.token}
}

// errNotLocal is an address that localhost must not have.
var errNotLocal = errors.New("dispatch: not an address of this machine")

// carrier makes one connection for each call. There is no http.Client around it: that follows
// redirects, and looks where they lead even when it is told not to.
func carrier(local bool, roots *x509.CertPool) *http.Transport {
	dialer := &net.Dialer{KeepAlive: -1}
	if local {
		dialer.Control = controlLocal
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives:      true,
		DisableCompression:     true,
		Protocols:              protocols,
		MaxResponseHeaderBytes: 64 << 10,
		ReadBufferSize:         16 << 10,
	}
}

// controlLocal looks at the address that is about to be connected to (net.Dialer).
func controlLocal(_, at string, _ syscall.RawConn) error {
	if a, err := netip.ParseAddrPort(at); err != nil || !a.Addr().Unmap().IsLoopback() {
		return errNotLocal
	}
	return nil
}

// Dispatch sends the request and reads the answer.
func (e *Endpoint) Dispatch(ctx context.Context, r *envelope.Request) (res *envelope.Result) {
	defer func() {
		if recover() != nil {
			res = fail(r, envelope.Failed, envelope.CodeInternalError)
		}
	}()
	if e.problem != nil {
		return e.problem.unavailable(r)
	}
	call, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	// Whether the request may have left is what decides if it may be made again.
	var connected atomic.Bool
	call = httptrace.WithClientTrace(call, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	req, err := http.NewRequestWithContext(call, http.MethodPost, e.at.url.String(), bytes.NewReader(r.Encode()))
	if err != nil {
		return fail(r, envelope.Unavailable, envelope.CodeEndpointURLInvalid)
	}
	req.GetBody = nil // there is no second time
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "brainbox")
	if e.token != "" {
		req.Header.Set("Authorization", "Bearer "+e.token)
	}
	resp, err := e.carrier.RoundTrip(req)
	if err != nil {
		return broken(ctx, call, r, err, connected.Load())
	}
	defer resp.Body.Close()
	if status, code := judgeStatus(resp.StatusCode); code != "" {
		return fail(r, status, code)
	}
	if !isJSON(resp.Header) {
		return fail(r, envelope.Failed, envelope.CodeResultNotJSON)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxResult+1))
	switch {
	case err == nil || len(text) > maxResult:
		return envelope.DecodeResult(r, text)
	case call.Err() != nil:
		return broken(ctx, call, r, err, true)
	}
	return fail(r, envelope.Failed, envelope.CodeResultNotJSON) // it ended in the middle
}

// broken is the result of a call that got no answer.
func broken(ctx, call context.Context, r *envelope.Request, err error, sent bool) *envelope.Result {
	var untrusted *tls.CertificateVerificationError
	var timeout net.Error
	switch {
	case gone(ctx):
		return fail(r, envelope.Failed, envelope.CodeCallerGone)
	case call.Err() != nil, errors.As(err, &timeout) && timeout.Timeout() && sent:
		return fail(r, envelope.Timeout, envelope.CodeDispatchTimeout)
	case errors.As(err, &untrusted), errors.Is(err, errNotLocal):
		return fail(r, envelope.Unavailable, envelope.CodeEndpointInsecure)
	case sent:
		return fail(r, envelope.Failed, envelope.CodeEndpointHTTPError)
	}
	return fail(r, envelope.Unavailable, envelope.CodeEndpointUnreachable)
}

// gone reports whether the caller gave up, and not the clock.
func gone(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded)
}

// judgeStatus is the table of section A.6. An empty code is an answer with a result.
func judgeStatus(status int) (envelope.Status, string) {
	switch status {
	case http.StatusOK, http.StatusCreated, http.StatusAccepted:
		return envelope.Succeeded, ""
	case http.StatusUnauthorized:
		return envelope.Unavailable, envelope.CodeEndpointAuthFailed
	case http.StatusForbidden:
		return envelope.Denied, envelope.CodeEndpointForbidden
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone:
		return envelope.Unavailable, envelope.CodeEndpointNotFound
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return envelope.Timeout, envelope.CodeDispatchTimeout
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return envelope.Unavailable, envelope.CodeEndpointBusy
	}
	if status >= 300 && status <= 399 {
		return envelope.Unavailable, envelope.CodeRedirectRefused
	}
	return envelope.Failed, envelope.CodeEndpointHTTPError
}

// isJSON reports whether the one Content-Type is application/json, whatever its parameters.
func isJSON(h http.Header) bool {
	types := h.Values("Content-Type")
	if len(types) != 1 {
		return false
	}
	name, _, err := mime.ParseMediaType(types[0])
	return name == "application/json" && (err == nil || errors.Is(err, mime.ErrInvalidMediaParameter))
}
