package inference

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gantry-market/gantry/internal/printable"
)

const (
	// maxTries is how many replicas a request is sent to before its first token.
	maxTries = 3
	// maxAnswer is how large an answer may be that is no stream, bytes.
	maxAnswer = 16 << 20
	// retryAfter is when a client that no replica took may ask again, seconds.
	retryAfter = 10
)

// attempts sends a call to a replica, and to another one where it fails before the first token.
type attempts struct{ s *Service }

// RoundTrip implements http.RoundTripper.
func (a *attempts) RoundTrip(req *http.Request) (*http.Response, error) {
	c, ok := req.Context().Value(callKey{}).(*call)
	if !ok {
		return nil, errors.New("not a call")
	}
	if req.Body != nil {
		_ = req.Body.Close() // it was read
	}
	var failed []uint64
	var last *http.Response // an answer that another replica may better
	var lastErr error
	x := measured{}
	for try := range maxTries {
		r, err := c.d.acquire(req.Context(), c.affinity, failed, last == nil)
		if err != nil {
			if last != nil {
				return last, nil
			}
			a.record(c, x, nil, 0, true)
			return nil, unserved(c.d, err, lastErr)
		}
		x.wait, x.retries = time.Since(c.began), try
		from := c.d.sharedNow(r)
		res, err := a.send(req, c, r, x, from)
		if err == nil && !passing(res.StatusCode) {
			return res, nil
		}
		failed = append(failed, r.rec.ID)
		if last != nil {
			_ = last.Body.Close()
			last = nil
		}
		switch {
		case err == nil:
			last = res
		case req.Context().Err() != nil:
			a.record(c, x, r, from, true)
			return nil, err
		default:
			r.suspect(printable.Text(err.Error()))
			lastErr = err
		}
	}
	if last != nil {
		return last, nil
	}
	a.record(c, x, nil, 0, true)
	return nil, lastErr
}

// passing are answers that another replica may not give.
func passing(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// unserved says why no replica took a request.
func unserved(d *deployment, err, last error) error {
	e := &apiError{status: http.StatusServiceUnavailable, retryAfter: retryAfter, Type: "server_error", Code: "no_replica"}
	switch {
	case errors.Is(err, errDeleted):
		return noModel(d.rec.Spec.Name)
	case errors.Is(err, errBusy):
		e.Message = "too many requests wait for a replica of " + d.rec.Spec.Name
	case errors.Is(err, errNoReplica):
		e.Message = fmt.Sprintf("no replica of %s took the request within %s", d.rec.Spec.Name, d.rec.Spec.Wait)
		if why := d.why(); why != "" {
			e.Message += ": " + why
		}
		if last != nil {
			e.Message += "; the last one has failed: " + printable.Text(last.Error())
		}
	default:
		return err
	}
	return e
}

// send sends a call to one replica, and returns when the first token or all of a plain answer is there. Closing the answer's
// body releases the replica; an error has released it.
func (a *attempts) send(req *http.Request, c *call, r *replica, x measured, from float64) (res *http.Response, err error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	stop := context.AfterFunc(r.lost, func() { cancel(context.Cause(r.lost)) })
	done := func() { stop(); cancel(nil); c.d.release(r) }
	defer func() {
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			done()
		}
	}()
	out := req.Clone(ctx)
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(c.body)), int64(len(c.body))
	out.GetBody = nil
	if res, err = r.client.Transport.RoundTrip(out); err != nil {
		return nil, err
	}
	if res.StatusCode < http.StatusOK {
		_ = res.Body.Close()
		return nil, fmt.Errorf("it answers with the status %d", res.StatusCode)
	}
	finish := func(u tokens, ok bool) {
		x.prompt, x.completion, x.counted = u.Prompt, u.Completion, u.counted
		a.record(c, x, r, from, !ok)
		done()
	}
	if c.stream && res.StatusCode == http.StatusOK && strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		s := newStream(res.Body, c.request, finish)
		if err := s.prime(); err != nil {
			_ = res.Body.Close()
			return nil, err
		}
		x.first = time.Since(c.began)
		res.Body, res.ContentLength = s, -1
		return res, nil
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	_ = res.Body.Close()
	if err == nil && len(raw) > maxAnswer {
		err = fmt.Errorf("its answer has more than %d bytes", maxAnswer)
	}
	if err != nil {
		return nil, err
	}
	x.first = time.Since(c.began)
	res.Body, res.ContentLength = &plain{Reader: bytes.NewReader(raw), finish: func() { finish(plainTokens(raw, res.StatusCode, c.request), res.StatusCode < http.StatusBadRequest) }}, int64(len(raw))
	return res, nil
}

// record measures a call that is over.
func (a *attempts) record(c *call, x measured, r *replica, from float64, failed bool) {
	x.total, x.failed = time.Since(c.began), failed
	log := a.s.o.Log.Info().Str("deployment", c.d.rec.Spec.Name).Str("token", c.token.ID).Bool("failed", failed).Int("retries", x.retries)
	if r != nil {
		x.cost = c.d.cost(r, from)
		log = log.Str("lease", r.rec.Lease).Float64("microUSDC", x.cost)
	}
	log.Uint64("prompt", x.prompt).Uint64("completion", x.completion).Dur("wait", x.wait).Dur("first", x.first).Dur("total", x.total).Msg("request")
	a.s.meter.add(c.d.rec.Spec.Name, c.token.ID, x)
}

// plain is an answer that is in memory.
type plain struct {
	*bytes.Reader
	finish func()
}

// Close implements io.Closer.
func (p *plain) Close() error {
	if p.finish != nil {
		p.finish()
		p.finish = nil
	}
	return nil
}

// plainTokens reads what an answer says of its tokens, or counts.
func plainTokens(raw []byte, status int, r *request) tokens {
	if status >= http.StatusBadRequest || r.free {
		return tokens{}
	}
	t := tokens{counted: true, Prompt: about(r.promptBytes)}
	var answer answer
	switch err := json.Unmarshal(raw, &answer); {
	case err != nil && r.form:
		t.Completion = about(len(raw)) // subtitles, or a text
	case err != nil:
	case answer.Usage != nil:
		return *answer.Usage
	default:
		t.Completion = about(answer.length())
	}
	return t
}
