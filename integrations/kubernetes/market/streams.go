package market

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/coder/websocket"
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

// Size is that of a terminal, in characters.
type Size struct {
	Columns int `json:"columns"`
	Rows    int `json:"rows"`
}

// terminalProtocol and bearerProtocol are the WebSocket protocols of a terminal: the second carries the token.
const (
	terminalProtocol = "gantry.terminal"
	bearerProtocol   = "gantry.bearer."
)

// Terminal is a shell in a lease's container: what is written to it is typed, what is read from it is shown.
type Terminal struct{ conn *websocket.Conn }

// OpenTerminal opens a shell of a size.
func (c *Client) OpenTerminal(ctx context.Context, address string, size Size) (*Terminal, error) {
	u := *c.base
	u.Path += pagePath(address) + "/terminal"
	conn, resp, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{
		HTTPClient: c.http, Subprotocols: []string{terminalProtocol, bearerProtocol + c.token},
	})
	if err != nil {
		if resp != nil && resp.StatusCode >= http.StatusBadRequest {
			return nil, &Problem{Status: resp.StatusCode, Detail: fmt.Sprintf("gantry serve refuses a terminal: %s", resp.Status)}
		}
		return nil, fmt.Errorf("%w: no terminal: %w", ErrUnreachable, err)
	}
	t := &Terminal{conn}
	if err := t.Resize(ctx, size); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Resize says the size of the screen.
func (t *Terminal) Resize(ctx context.Context, size Size) error {
	raw, err := json.Marshal(size)
	if err != nil {
		return err
	}
	return t.conn.Write(ctx, websocket.MessageText, raw)
}

// Type passes on what was typed.
func (t *Terminal) Type(ctx context.Context, typed []byte) error {
	return t.conn.Write(ctx, websocket.MessageBinary, typed)
}

// Show writes what the shell shows to w until the shell ends.
func (t *Terminal) Show(ctx context.Context, w io.Writer) error {
	for {
		kind, raw, err := t.conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("%w: the terminal broke off: %w", ErrUnreachable, err)
		}
		if kind == websocket.MessageBinary {
			if _, err := w.Write(raw); err != nil {
				return err
			}
			continue
		}
		var end struct {
			Problem *Problem `json:"problem"`
		}
		switch err := json.Unmarshal(raw, &end); {
		case err != nil:
			return fmt.Errorf("terminal: %w", err)
		case end.Problem != nil:
			return errors.Join(errors.New("the shell could not be entered"), end.Problem)
		}
		return nil
	}
}

// Close ends the terminal, and its shell.
func (t *Terminal) Close() { _ = t.conn.CloseNow() }
