package alert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/gantry-market/gantry/internal/version"
)

// Errors of deliveries by HTTP.
var (
	// ErrRedirect: the server redirects to another host, or in a way that loses the notice.
	ErrRedirect = errors.New("the server redirects elsewhere")
	// ErrStatus: the server did not accept the notice.
	ErrStatus = errors.New("the server refuses the notice")
)

const (
	maxRedirects = 3
	// maxAnswer is how much of an answer is read, so that the connection can be used again.
	maxAnswer = 16 << 10
)

// newClient makes a client that stays at the host that it was given.
func newClient() *http.Client {
	return &http.Client{
		Timeout: sendWithin,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			first := via[0]
			// Another method means that the body is lost.
			if r.URL.Host != first.URL.Host || r.URL.Scheme != first.URL.Scheme || r.Method != first.Method || len(via) > maxRedirects {
				return ErrRedirect
			}
			return nil
		},
	}
}

// post sends a body. Errors do not show the URL, which may have a secret.
func post(ctx context.Context, c *http.Client, to string, h http.Header, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: the URL is not valid", ErrTarget)
	}
	r.Header = h
	r.Header.Set("User-Agent", "gantry/"+version.Build)
	answer, err := c.Do(r)
	if err != nil {
		var hidden *url.Error
		if errors.As(err, &hidden) {
			err = hidden.Err
		}
		return fmt.Errorf("request: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer)) // what it says is not shown
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("%w: status %d", ErrStatus, answer.StatusCode)
	}
	return nil
}

// newWebhook sends notices as JSON.
func newWebhook(u *url.URL) func(context.Context, Notice) error {
	client, to := newClient(), u.String()
	return func(ctx context.Context, n Notice) error {
		body, err := json.Marshal(n)
		if err != nil {
			return fmt.Errorf("encode notice: %w", err)
		}
		return post(ctx, client, to, http.Header{"Content-Type": {"application/json"}}, body)
	}
}

// newNtfy publishes notices to a topic, as https://docs.ntfy.sh/publish/ describes. Error: ErrTarget.
func newNtfy(u *url.URL) (func(context.Context, Notice) error, error) {
	topic := strings.Trim(u.Path, "/")
	if topic == "" || strings.Contains(topic, "/") {
		return nil, fmt.Errorf("%w: name one topic, such as ntfy://ntfy.sh/my-topic", ErrTarget)
	}
	to := url.URL{Scheme: "https", Host: u.Host, Path: "/" + topic}
	if u.Scheme == "ntfy" && loopback(u.Hostname()) {
		to.Scheme = "http"
	}
	var auth string
	if password, ok := u.User.Password(); ok && u.User.Username() == "" {
		auth = "Bearer " + password
	} else if u.User != nil {
		to.User = u.User
	}
	client := newClient()
	return func(ctx context.Context, n Notice) error {
		priority, tag := "3", "information_source"
		switch n.Severity {
		case Critical:
			priority, tag = "5", "rotating_light"
		case Warning:
			priority, tag = "4", "warning"
		}
		// A header is ASCII: ntfy decodes RFC 2047.
		h := http.Header{"Title": {mime.QEncoding.Encode("utf-8", n.title())}, "Priority": {priority}, "Tags": {tag}}
		if n.Link != "" {
			h.Set("Click", n.Link)
		}
		if auth != "" {
			h.Set("Authorization", auth)
		}
		return post(ctx, client, to.String(), h, []byte(n.Text))
	}, nil
}
