package inference

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gantry-market/gantry/internal/printable"
)

const (
	// writeWithin is how long a client may take to read what is written at once.
	writeWithin = time.Minute
	// requestWithin is how long a request may take in all.
	requestWithin = time.Hour
)

// ServeHTTP answers a request to OpenAI's or Anthropic's API, at a path that Serves reports. The caller has checked host and origin.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(w)
	now := time.Now()
	_, _ = c.SetReadDeadline(now.Add(s.o.ReadWithin)), c.SetWriteDeadline(now.Add(writeWithin)) // a test's recorder has none
	speaks := &chat
	if strings.HasPrefix(r.URL.Path, AnthropicPrefix) {
		speaks = &messages
	}
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if key := r.Header.Get("X-Api-Key"); !ok && key != "" && speaks == &messages {
		text, ok = key, true
	}
	token, err := s.admit(strings.TrimSpace(text))
	switch {
	case !ok || errors.Is(err, ErrNotFound):
		w.Header().Set("WWW-Authenticate", `Bearer realm="gantry"`)
		(&apiError{status: http.StatusUnauthorized, Message: "the token is missing, or none of this server", Type: "invalid_request_error", Code: "invalid_api_key"}).write(w, speaks)
		return
	case err != nil:
		s.o.Log.Error().Err(err).Msg("token cannot be looked up")
		(&apiError{status: http.StatusInternalServerError, Message: "the token cannot be looked up", Type: "server_error"}).write(w, speaks)
		return
	}
	_, forwarded := operations[r.URL.Path]
	path := endpoint(r.URL.Path)
	switch {
	case path == "/models" && r.Method == http.MethodGet:
		s.models(w, &token, speaks)
	case strings.HasPrefix(path, "/models/") && r.Method == http.MethodGet:
		s.model(w, &token, strings.TrimPrefix(path, "/models/"), speaks)
	case forwarded && r.Method == http.MethodPost:
		s.forward(w, r, &token)
	default:
		(&apiError{status: http.StatusNotFound, Message: fmt.Sprintf("there is no %s %s", r.Method, r.URL.Path), Type: "invalid_request_error"}).write(w, speaks)
	}
}

// call is one request on its way.
type call struct {
	*request
	d     *deployment
	token *Token
	began time.Time
}

type callKey struct{}

// forward answers a request by a replica.
func (s *Service) forward(w http.ResponseWriter, r *http.Request, t *Token) {
	speaks := operations[r.URL.Path].dialect
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		overloaded("the server answers as many requests as it can").write(w, speaks)
		return
	}
	began := time.Now()
	c := http.NewResponseController(w)
	if err := s.mayAsk(t); err != nil {
		asAPIError(err).write(w, speaks)
		return
	}
	raw, done, err := s.read(w, r)
	// A deadline that passes while the answer is made would end the request.
	_ = c.SetReadDeadline(time.Time{})
	defer func() { _ = c.SetWriteDeadline(time.Now().Add(writeWithin)) }() // for the last piece
	if err == nil {
		defer done()
		var req *request
		k := &call{token: t, began: began}
		req, err = parseRequest(r.URL.Path, r.Header.Get("Content-Type"), raw, func(model string) (string, error) {
			d, nerr := s.named(model)
			if nerr != nil || !t.Admits(model) {
				return "", noModel(model)
			}
			k.d = d
			return d.rec.Spec.Model, nil
		})
		if err == nil {
			k.request = req
			ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), callKey{}, k), requestWithin)
			defer cancel()
			s.proxy.ServeHTTP(&patientWriter{ResponseWriter: w, c: c}, r.WithContext(ctx))
			return
		}
	}
	asAPIError(err).write(w, speaks)
}

// read takes a request's body into memory; done gives the memory back.
func (s *Service) read(w http.ResponseWriter, r *http.Request) (raw []byte, done func(), err error) {
	size := r.ContentLength
	if size < 0 {
		size = maxBody
	}
	tooLarge := &apiError{status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the request has more than %d bytes", maxBody), Type: "invalid_request_error"}
	if size > maxBody {
		return nil, nil, tooLarge
	}
	if !s.bodies.TryAcquire(size) {
		return nil, nil, overloaded("the server holds as many requests as it can")
	}
	done = func() { s.bodies.Release(size) }
	raw, err = io.ReadAll(http.MaxBytesReader(w, r.Body, size))
	if err == nil {
		return raw, done, nil
	}
	done()
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, nil, tooLarge
	}
	return nil, nil, invalid("", "the request's body could not be read")
}

func overloaded(message string) *apiError {
	return &apiError{status: http.StatusServiceUnavailable, retryAfter: 1, Message: message, Type: "server_error", Code: "overloaded"}
}

func asAPIError(err error) *apiError {
	var e *apiError
	if errors.As(err, &e) {
		return e
	}
	return &apiError{status: http.StatusBadGateway, Message: "no replica has answered: " + printable.Text(err.Error()), Type: "server_error"}
}

// newProxy forwards calls. Of the client's headers only those go on that say what is sent and wanted: its token is for this
// server alone.
func (s *Service) newProxy() http.Handler {
	buffers := &pool{sync.Pool{New: func() any { b := make([]byte, 8<<10); return &b }}}
	return &httputil.ReverseProxy{
		FlushInterval: -1, BufferPool: buffers, Transport: &attempts{s}, ErrorLog: nil,
		Rewrite: func(p *httputil.ProxyRequest) {
			c, _ := p.In.Context().Value(callKey{}).(*call)
			p.Out.URL = &url.URL{Scheme: "http", Host: fmt.Sprintf("replica:%d", c.d.rec.Spec.Port), Path: c.d.rec.Spec.Path + c.endpoint}
			p.Out.Host = ""
			p.Out.Header = http.Header{"Content-Type": {c.contentType}, "User-Agent": {"gantry"}}
			for _, key := range []string{"Accept", "Anthropic-Version", "Anthropic-Beta"} {
				if value := p.In.Header.Get(key); value != "" {
					p.Out.Header.Set(key, value)
				}
			}
		},
		ModifyResponse: func(res *http.Response) error {
			kept := http.Header{}
			for _, key := range []string{"Content-Type", "Retry-After"} {
				if value := res.Header.Get(key); value != "" {
					kept.Set(key, value)
				}
			}
			res.Header = kept
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil && !errors.Is(r.Context().Err(), context.DeadlineExceeded) {
				return // the client is gone
			}
			c, _ := r.Context().Value(callKey{}).(*call)
			asAPIError(err).write(w, c.dialect)
		},
	}
}

type pool struct{ sync.Pool }

// Get implements httputil.BufferPool.
func (p *pool) Get() []byte { return *p.Pool.Get().(*[]byte) }

// Put implements httputil.BufferPool.
func (p *pool) Put(b []byte) { p.Pool.Put(&b) }

// patientWriter gives a client time for each piece that is written, and none for all of them.
type patientWriter struct {
	http.ResponseWriter
	c *http.ResponseController
}

func (w *patientWriter) Write(b []byte) (int, error) {
	_ = w.c.SetWriteDeadline(time.Now().Add(writeWithin)) // a test's recorder has none
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
