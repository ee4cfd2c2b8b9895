package market

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"
)

// Use is what a lease's container uses.
type Use struct {
	// CPUSeconds are those of its processors since the job began.
	CPUSeconds  float64   `json:"cpuSeconds"`
	MemoryBytes uint64    `json:"memoryBytes"`
	MeasuredAt  time.Time `json:"measuredAt"`
}

// Use returns the newest sample of the server, if it is no older than fresh, and otherwise the next sample of the machine.
func (c *Client) Use(ctx context.Context, address string, fresh time.Duration) (u Use, err error) {
	known, err := c.events(ctx, pagePath(address)+"/use", url.Values{}, func(event, data string) (bool, error) {
		switch event {
		case "past":
			var past struct {
				Samples []Use `json:"samples"`
			}
			if err := json.Unmarshal([]byte(data), &past); err != nil {
				return false, fmt.Errorf("what the lease has used: %w", err)
			}
			if n := len(past.Samples); n > 0 {
				u = past.Samples[n-1]
				return time.Since(u.MeasuredAt) <= fresh, nil
			}
		case "use":
			if err := json.Unmarshal([]byte(data), &u); err != nil {
				return false, fmt.Errorf("what the lease uses: %w", err)
			}
			return true, nil
		case "problem":
			p := &Problem{}
			if err := json.Unmarshal([]byte(data), p); err != nil {
				return false, fmt.Errorf("what the lease uses: %w", err)
			}
			return false, p
		}
		return false, nil
	})
	if err == nil && !known {
		err = fmt.Errorf("%w: the machine of lease %s says nothing of what it uses", ErrUnreachable, address)
	}
	return u, err
}

// pagePath is where the server answers about a lease's machine.
func pagePath(address string) string { return "/page/leases/" + url.PathEscape(address) }
