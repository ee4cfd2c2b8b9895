package market

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/coder/websocket"
)

// Size is that of a terminal, in characters.
type Size struct {
	Columns int `json:"columns"`
	Rows    int `json:"rows"`
}

// WebSocket protocols: that of a terminal, that of a command, and what begins the one that carries the token.
const (
	terminalProtocol = "gantry.terminal"
	execProtocol     = "gantry.exec"
	bearerProtocol   = "gantry.bearer."
)

// enter opens a WebSocket into the container of a lease.
func (c *Client) enter(ctx context.Context, path, protocol string) (*websocket.Conn, error) {
	u := *c.base
	u.Path += path
	conn, resp, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{HTTPClient: c.http, Subprotocols: []string{protocol, bearerProtocol + c.token}})
	if err == nil {
		return conn, nil
	}
	if resp == nil || resp.StatusCode < http.StatusBadRequest {
		return nil, fmt.Errorf("%w: the container is not entered: %w", ErrUnreachable, err)
	}
	p := &Problem{}
	raw, err := io.ReadAll(resp.Body) // the package keeps the beginning of it
	if err != nil || json.Unmarshal(raw, p) != nil || p.Detail == "" {
		p.Detail = fmt.Sprintf("gantry serve does not open the container: %s", resp.Status)
	}
	p.Status = resp.StatusCode
	return nil, p
}

// Terminal is a shell in a lease's container: what is written to it is typed, what is read from it is shown.
type Terminal struct{ conn *websocket.Conn }

// OpenTerminal opens a shell of a size.
func (c *Client) OpenTerminal(ctx context.Context, address string, size Size) (*Terminal, error) {
	conn, err := c.enter(ctx, pagePath(address)+"/terminal", terminalProtocol)
	if err != nil {
		return nil, err
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

// maxInput is how much of an input is sent at once, bytes.
const maxInput = 32 << 10

// Command runs in the container of a lease.
type Command struct {
	Args []string
	// In is nil for an empty input.
	In       io.Reader
	Out, Err io.Writer
}

// Exec runs a command until it ends, or ctx does, which ends the command. It may return before a read of the input does; what that
// reads is left.
func (c *Client) Exec(ctx context.Context, address string, cmd Command) (exitCode int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, err := c.enter(ctx, leasePath(address)+"/exec", execProtocol)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.CloseNow() }()
	first, err := json.Marshal(map[string]any{"command": cmd.Args, "stdin": cmd.In != nil})
	if err != nil {
		return 0, err
	}
	if err := conn.Write(ctx, websocket.MessageText, first); err != nil {
		return 0, fmt.Errorf("%w: the command could not be sent: %w", ErrUnreachable, err)
	}
	if cmd.In != nil {
		go func() {
			_, _ = io.Copy(input{ctx, conn}, cmd.In)
			_ = conn.Write(ctx, websocket.MessageText, []byte(`{"eof": true}`))
		}()
	}
	return outputs(ctx, conn, cmd.Out, cmd.Err)
}

// input is a command's.
type input struct {
	ctx  context.Context
	conn *websocket.Conn
}

func (i input) Write(b []byte) (n int, err error) {
	for n < len(b) {
		part := b[n:min(n+maxInput, len(b))]
		if err := i.conn.Write(i.ctx, websocket.MessageBinary, part); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// outputs writes what a command shows until it ends.
func outputs(ctx context.Context, conn *websocket.Conn, out, errs io.Writer) (exitCode int, err error) {
	for {
		kind, raw, err := conn.Read(ctx)
		if err != nil {
			return 0, fmt.Errorf("%w: the command broke off: %w", ErrUnreachable, err)
		}
		if kind == websocket.MessageText {
			return ended(raw)
		}
		if len(raw) == 0 {
			continue
		}
		to := out
		if raw[0] == 2 {
			to = errs
		}
		if to == nil {
			continue
		}
		if _, err := to.Write(raw[1:]); err != nil {
			return 0, fmt.Errorf("output of the command: %w", err)
		}
	}
}

// ended reads the last message of a command.
func ended(raw []byte) (exitCode int, err error) {
	var end struct {
		ExitCode *int     `json:"exitCode"`
		Problem  *Problem `json:"problem"`
	}
	switch err := json.Unmarshal(raw, &end); {
	case err != nil:
		return 0, fmt.Errorf("end of the command: %w", err)
	case end.Problem != nil:
		return 0, end.Problem
	case end.ExitCode == nil:
		return 0, errors.New("end of the command: gantry serve gives no exit code")
	}
	return *end.ExitCode, nil
}
