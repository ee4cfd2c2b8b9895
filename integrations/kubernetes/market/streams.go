package market

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// MaxTail is how much of an output the server answers at once, bytes.
const MaxTail = 256 << 10

// Output is the end of a job's output. Next is the offset behind it.
type Output struct {
	Text  string `json:"text"`
	Next  uint64 `json:"next"`
	Ended bool   `json:"ended"`
}

// Tail is the end of the output of a lease's job.
func (c *Client) Tail(ctx context.Context, address string, bytes int) (o Output, err error) {
	err = c.ask(ctx, http.MethodGet, leasePath(address)+"/logs", url.Values{"tail": {strconv.Itoa(min(max(bytes, 1), MaxTail))}}, "", nil, &o)
	return o, err
}

// Follow writes the output from an offset on to w until the job ends or ctx does.
func (c *Client) Follow(ctx context.Context, address string, offset uint64, w io.Writer) error {
	ended, err := c.events(ctx, leasePath(address)+"/logs", url.Values{"follow": {"true"}, "offset": {strconv.FormatUint(offset, 10)}}, func(event, data string) (bool, error) {
		return event == "end", take(event, data, w)
	})
	if err == nil && !ended {
		err = fmt.Errorf("%w: the output broke off", ErrUnreachable)
	}
	return err
}

// events reads a stream of events until take has had enough of them, or fails; it reports whether it had enough.
func (c *Client) events(ctx context.Context, path string, query url.Values, take func(event, data string) (enough bool, err error)) (enough bool, err error) {
	req, err := c.request(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return false, err
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := c.do(req)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxAnswer)
	event := ""
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			event = value
		case "data":
			if enough, err := take(event, value); err != nil || enough {
				return enough, err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return false, fmt.Errorf("%w: the stream broke off: %w", ErrUnreachable, err)
	}
	return false, nil
}

// take reads one event of an output.
func take(event, data string, w io.Writer) error {
	switch event {
	case "output":
		var o Output
		if err := json.Unmarshal([]byte(data), &o); err != nil {
			return fmt.Errorf("output: %w", err)
		}
		_, err := io.WriteString(w, o.Text)
		return err
	case "problem":
		p := &Problem{}
		if err := json.Unmarshal([]byte(data), p); err != nil {
			return fmt.Errorf("output: %w", err)
		}
		return p
	}
	return nil
}
