package alert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
)

// ErrTarget: a text does not say where to send notices.
var ErrTarget = errors.New("notices cannot be sent there")

// filePrefix begins the name of a file that has the URL.
const filePrefix = "file:"

// passwordFile is the parameter of a URL that names the file with the password.
const passwordFile = "password-file"

// Target is where notices go.
type Target struct {
	// ID is the same for the same URL, and tells nothing about it.
	ID string
	// Name is the scheme and the host, without secrets.
	Name string
	send func(context.Context, Notice) error
}

// deliver sends one notice in bounded time.
func (t Target) deliver(ctx context.Context, n Notice) error {
	ctx, cancel := context.WithTimeout(ctx, sendWithin)
	defer cancel()
	return t.send(ctx, n)
}

// ParseAll parses several URLs; one that stands there twice counts once. Error: ErrTarget.
func ParseAll(texts []string) ([]Target, error) {
	var all []Target
	for i, text := range texts {
		t, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("URL %d for notices: %w", i+1, err)
		}
		if !slices.ContainsFunc(all, func(o Target) bool { return o.ID == t.ID }) {
			all = append(all, t)
		}
	}
	return all, nil
}

// Parse parses a URL for notices, or file:PATH with a file that has the URL. Errors do not show the URL, which may have
// a secret. Error: ErrTarget.
func Parse(text string) (Target, error) {
	if path, ok := strings.CutPrefix(text, filePrefix); ok {
		line, err := firstLine(path)
		if err != nil {
			return Target{}, err
		}
		text = line
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Hostname() == "" {
		return Target{}, fmt.Errorf("%w: it is not a URL with a host; give https://…, ntfy://HOST/TOPIC or smtp://USER@HOST/?from=…&to=…", ErrTarget)
	}
	sum := sha256.Sum256([]byte(u.String()))
	t := Target{ID: hex.EncodeToString(sum[:8]), Name: u.Scheme + "://" + u.Host}
	if err := readPassword(u); err != nil {
		return t, err
	}
	switch {
	case u.Scheme == "ntfy", u.Scheme == "ntfys", u.Scheme == "https" && u.Hostname() == "ntfy.sh":
		t.send, err = newNtfy(u)
	case u.Scheme == "https":
		t.send = newWebhook(u)
	case u.Scheme == "http" && loopback(u.Hostname()):
		t.send = newWebhook(u)
	case u.Scheme == "http":
		err = fmt.Errorf("%w: http:// is for this machine only; use https://", ErrTarget)
	case u.Scheme == "smtp", u.Scheme == "smtps":
		t.send, err = newMail(u)
	default:
		err = fmt.Errorf("%w: the scheme %q is unknown; use https, ntfy or smtp", ErrTarget, u.Scheme)
	}
	return t, err
}

// readPassword puts the password of the file that a URL names into the URL.
func readPassword(u *url.URL) error {
	q := u.Query()
	path := q.Get(passwordFile)
	if path == "" {
		return nil
	}
	password, err := firstLine(path)
	if err != nil {
		return err
	}
	q.Del(passwordFile)
	u.User, u.RawQuery = url.UserPassword(u.User.Username(), password), q.Encode()
	return nil
}

// firstLine is the first line of a file.
func firstLine(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrTarget, err)
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	if line = strings.TrimSpace(line); line == "" {
		return "", fmt.Errorf("%w: the first line of %s is empty", ErrTarget, path)
	}
	return line, nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || (ip != nil && ip.IsLoopback())
}
