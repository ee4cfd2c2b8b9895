package ociregistry

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gantry-market/gantry/internal/wait"
)

const (
	// firstWait and mostWait are the first and the longest wait for a registry that does not say how long.
	firstWait, mostWait = time.Second, 16 * time.Second
)

// Patient asks again where a registry answers that it is asked too often: after the time that it names, while the request's context
// lasts. Only requests without a body are asked again.
type Patient struct {
	Next http.RoundTripper
	// Most is the longest that one request waits, all its waits together. Where a registry asks for more, its answer is returned at
	// once.
	Most time.Duration
	// Now is the clock; nil for the machine's.
	Now func() time.Time
}

// RoundTrip implements [http.RoundTripper].
func (p Patient) RoundTrip(r *http.Request) (*http.Response, error) {
	now := p.Now
	if now == nil {
		now = time.Now
	}
	left, next := p.Most, firstWait
	for {
		answer, err := p.Next.RoundTrip(r)
		if err != nil || answer.StatusCode != http.StatusTooManyRequests || r.Body != nil && r.Body != http.NoBody {
			return answer, err
		}
		pause, says := retryAfter(answer.Header.Get("Retry-After"), now())
		if !says {
			pause, next = next, min(2*next, mostWait)
		}
		if left <= 0 || pause > left {
			return answer, nil
		}
		left -= max(pause, firstWait) // one that says 0 again and again does not hold us for ever
		answer.Body.Close()
		if err := wait.For(r.Context(), pause); err != nil {
			return nil, err
		}
	}
}

// retryAfter reads seconds or a date.
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}
