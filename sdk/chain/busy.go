package chain

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gantry-market/gantry/internal/wait"
)

// maxRest bounds the pause that an endpoint may ask for: one that asks for years is asked again after it.
const maxRest = 30 * time.Second

// busyError is an answer of an endpoint that asks for a pause.
type busyError struct {
	err   error
	pause time.Duration
}

// Error implements error.
func (e *busyError) Error() string { return e.err.Error() }

// Unwrap implements error.
func (e *busyError) Unwrap() error { return e.err }

// pauseOf is the pause that an answer asks for, zero for none: status 429 or 503 with Retry-After, in seconds or as a
// date.
func pauseOf(res *http.Response, now time.Time) time.Duration {
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	after := strings.TrimSpace(res.Header.Get("Retry-After"))
	if n, err := strconv.ParseUint(after, 10, 64); err == nil {
		return time.Duration(min(n, uint64(maxRest/time.Second))) * time.Second
	}
	at, err := http.ParseTime(after)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRest)
}

// rest is until when the node has asked for a pause.
func (n *node) rest() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.restsUntil
}

// awake divides nodes into those that may be asked and the one that rests for the shortest time.
func awake(nodes []*node, now time.Time) (up []*node, next *node) {
	for _, n := range nodes {
		until := n.rest()
		switch {
		case !now.Before(until):
			up = append(up, n)
		case next == nil || until.Before(next.rest()):
			next = n
		}
	}
	return up, next
}

// awaitRest waits until a node may be asked again, but not beyond a time. It reports whether it may.
func awaitRest(ctx context.Context, n *node, latest time.Time) (bool, error) {
	until := n.rest()
	if until.After(latest) {
		return false, nil
	}
	if err := wait.For(ctx, time.Until(until)); err != nil {
		return false, err
	}
	return true, nil
}

// resting is the error of a question that no node was asked, because all want a pause.
func (n *node) resting(method string, now time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return fmt.Errorf("%w: %s: %s: it asks for a pause of %s more (HTTP status 429); wait, or add another --url",
		ErrUnreachable, n.ep.Name(), method, n.restsUntil.Sub(now).Round(time.Second))
}
