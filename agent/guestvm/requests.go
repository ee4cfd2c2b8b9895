package guestvm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/agent/runtime"
)

// What an agent asks of a guest's supervisor.
const (
	doAsk    = "ask"    // opens a session of package control, for the questions of the lease's customer
	doBring  = "bring"  // keeps a sealed job
	doStart  = "start"  // gives the guest that job
	doExtend = "extend" // sets for how long the job may run
	doStop   = "stop"   // ends the guest
)

// request is one line of JSON. Each connection carries one.
type request struct {
	Do     string        `json:"do"`
	Key    []byte        `json:"key,omitempty"`
	Sealed []byte        `json:"sealed,omitempty"`
	Spec   *runtime.Spec `json:"spec,omitempty"`
	Left   time.Duration `json:"left_ns,omitempty"`
}

// maxRequest is the longest line, bytes: a sealed job in base64.
const maxRequest = 16 << 20

// reply is the supervisor's line. Failed is empty where it has done what was asked.
type reply struct {
	Failed string `json:"failed,omitempty"`
	// Kinds are the errors of this table that it is.
	Kinds []string `json:"kinds,omitempty"`
}

var kinds = map[string]error{
	"boots": ErrBoots, "has-job": ErrHasJob, "no-guest": ErrNoGuest, "exists": runtime.ErrExists, "spec": runtime.ErrSpec, "over": runtime.ErrOver,
}

func replyOf(err error) (r reply) {
	if err == nil {
		return r
	}
	r.Failed = err.Error()
	for name, kind := range kinds {
		if errors.Is(err, kind) {
			r.Kinds = append(r.Kinds, name)
		}
	}
	return r
}

// remoteError is an error of the supervisor's.
type remoteError struct {
	text string
	is   []error
}

func (e *remoteError) Error() string   { return e.text }
func (e *remoteError) Unwrap() []error { return e.is }

func (r reply) err() error {
	if r.Failed == "" {
		return nil
	}
	e := &remoteError{text: r.Failed}
	for _, name := range r.Kinds {
		if kind := kinds[name]; kind != nil {
			e.is = append(e.is, kind)
		}
	}
	return e
}

// lined is a connection that begins with a line on each side.
type lined struct {
	net.Conn
	r *bufio.Reader
}

func (c lined) Read(b []byte) (int, error) { return c.r.Read(b) }

func newLined(c net.Conn) lined { return lined{c, bufio.NewReader(io.LimitReader(c, maxRequest))} }

// unlimited is the connection after its line.
func (c lined) unlimited() lined {
	rest, _ := c.r.Peek(c.r.Buffered()) // has no error: so many bytes are there
	return lined{c.Conn, bufio.NewReader(io.MultiReader(bytes.NewReader(bytes.Clone(rest)), c.Conn))}
}

func (c lined) readLine(v any) error {
	line, err := c.r.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

func (c lined) writeLine(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.Write(append(line, '\n'))
	return err
}

// socketPath is a short way to the socket in a lease's folder, since sockets' paths are. It holds until done is called.
func socketPath(dir string) (path string, done func(), err error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("folder of a guest: %w", err)
	}
	return filepath.Join("/proc/self/fd", strconv.Itoa(fd), socketFile), func() { _ = unix.Close(fd) }, nil
}

// listen opens the socket of a lease's folder. Nobody but the agent's user enters that.
func listen(dir string) (net.Listener, error) {
	path, done, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("socket of a guest: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("socket of a guest: %w", err)
	}
	l.SetUnlinkOnClose(false) // that path is no more then
	return l, nil
}

// askLimit is how long a supervisor may take for what needs no answer of the guest's.
const askLimit = 10 * time.Second

// ask sends a request and reads the reply. The connection is the caller's, unless there is an error.
func ask(ctx context.Context, dir string, q request) (c net.Conn, err error) {
	path, done, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAway, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() && err == nil {
			err = ctx.Err()
		}
		if err != nil {
			_ = conn.Close()
		}
	}()
	both, r := newLined(conn), reply{}
	if err = both.writeLine(q); err == nil {
		err = both.readLine(&r)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %w", errAway, err)
	}
	return both.unlimited(), r.err()
}

// errAway: the supervisor does not listen yet, or no longer.
var errAway = errors.New("the guest's supervisor does not answer")

// do is ask for requests that have no session.
func do(ctx context.Context, dir string, q request) error {
	c, err := ask(ctx, dir, q)
	if err != nil {
		return err
	}
	return c.Close()
}
