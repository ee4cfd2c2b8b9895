// Package market speaks with `gantry serve`: it orders leases over the HTTP API, follows them and ends them. The API is
// described in docs/operate/serve.md. The package needs nothing else of the product.
package market

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// answerWithin is how long a request may take: the server answers within 30 seconds.
	answerWithin = 45 * time.Second
	// maxAnswer bounds an answer, bytes.
	maxAnswer = 16 << 20
)

// ErrUnreachable: the server has not answered. What was asked may have happened.
var ErrUnreachable = errors.New("gantry serve does not answer")

// Problem is an error that the server has answered with.
type Problem struct {
	Status   int    `json:"status"`
	Title    string `json:"title"`
	Detail   string `json:"detail"`
	NextStep string `json:"nextStep"`
	Errors   []struct {
		Message  string `json:"message"`
		Location string `json:"location"`
	} `json:"errors"`
}

// Error says what happened and what to do.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Detail)
	for _, e := range p.Errors {
		fmt.Fprintf(&b, "; %s %s", e.Location, e.Message)
	}
	if p.NextStep != "" {
		fmt.Fprintf(&b, ": %s", p.NextStep)
	}
	return b.String()
}

// Certain reports whether an error says for certain that nothing was begun: the server has refused. After any other error
// the request may have had an effect.
func Certain(err error) bool {
	var p *Problem
	if !errors.As(err, &p) {
		return false
	}
	switch p.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return true
	}
	return false
}

// Wrong reports whether a request can never succeed as it is.
func Wrong(err error) bool {
	var p *Problem
	return errors.As(err, &p) &&
		(p.Status == http.StatusBadRequest || p.Status == http.StatusUnprocessableEntity || p.Status == http.StatusRequestEntityTooLarge)
}

// NotFound reports whether the server does not know what was asked for.
func NotFound(err error) bool {
	var p *Problem
	return errors.As(err, &p) && p.Status == http.StatusNotFound
}

// Client asks one server. It is safe for concurrent use.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
}

// New reaches the server at an address such as http://127.0.0.1:8484, with its token. A nil transport is the default one.
func New(base, token string, transport http.RoundTripper) (*Client, error) {
	u, err := url.Parse(strings.TrimSuffix(base, "/"))
	switch {
	case err != nil:
		return nil, fmt.Errorf("address of gantry serve: %w", err)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("the address of gantry serve is %q: write it as http://127.0.0.1:8484", base)
	case token == "":
		return nil, errors.New("the token of gantry serve is empty: it is in the file that --token-file of gantry serve names")
	}
	return &Client{base: u, token: token, http: &http.Client{Transport: transport}}, nil
}

// Host is the server's, without a port.
func (c *Client) Host() string { return c.base.Hostname() }

func (c *Client) request(ctx context.Context, method, path string, query url.Values, body any) (*http.Request, error) {
	u := *c.base
	u.Path += path
	u.RawQuery = query.Encode()
	var content io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("request to gantry serve: %w", err)
		}
		content = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), content)
	if err != nil {
		return nil, fmt.Errorf("request to gantry serve: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// do sends a request. The caller closes the body of a good answer.
func (c *Client) do(req *http.Request) (*http.Response, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrUnreachable, c.base.Host, err)
	}
	if resp.StatusCode < http.StatusBadRequest {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	p := &Problem{}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil || json.Unmarshal(raw, p) != nil || p.Detail == "" {
		p.Detail = fmt.Sprintf("gantry serve at %s answers %s", c.base.Host, resp.Status)
	}
	p.Status = resp.StatusCode
	return nil, p
}

// ask sends a request and reads the answer into out.
func (c *Client) ask(ctx context.Context, method, path string, query url.Values, key string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	req, err := c.request(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := c.do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(out); err != nil {
		return fmt.Errorf("%w: the answer to %s %s cannot be read: %w", ErrUnreachable, method, path, err)
	}
	return nil
}
