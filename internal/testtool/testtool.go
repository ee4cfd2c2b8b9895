// Package testtool starts software of other projects that tests and the demo need. That software is in two programs of a
// separate module, in the folder program. It is therefore not a dependency of modules that import the SDK. The demo needs the servers
// only, so that a first demo does not compile the readers.
package testtool

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gantry-market/gantry/internal/filelock"
)

// Variable names the program of the servers where it is not in the folder of the running one and cannot be built.
const Variable = "GANTRY_TESTSERVER"

// endWait is how long a server may take to end.
const endWait = 10 * time.Second

// ErrNotFound: the program is not there.
var ErrNotFound = errors.New("the program is not installed")

// program is one of the two.
type program struct{ name, folder, variable string }

var (
	servers = program{"gantry-testserver", "server", Variable}
	readers = program{"gantry-testreader", "reader", "GANTRY_TESTREADER"}
)

// path is where the program is: as the environment variable says, or in the folder of the running program, or where path
// builds it if the working directory is in a checkout. Errors: ErrNotFound, the compiler's.
func (p program) path(ctx context.Context) (string, error) {
	if given := os.Getenv(p.variable); given != "" {
		path, err := exec.LookPath(given)
		if err != nil {
			return "", fmt.Errorf("%s: %w: %s names it: %w", p.name, ErrNotFound, p.variable, err)
		}
		return filepath.Abs(path)
	}
	if self, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), p.name)); err == nil {
			return path, nil
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %w", p.name, ErrNotFound, err)
	}
	for source := filepath.Join("internal", "testtool", "program"); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, source, "go.mod")); err == nil {
			return p.build(ctx, filepath.Join(dir, source), filepath.Join(dir, "build", "bin"))
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s: %w: run `make build`, or name it in %s", p.name, ErrNotFound, p.variable)
		}
	}
}

// build compiles the program into a folder, unless it is there and up to date. One process at a time does so: the
// compiler may write its result in place.
func (p program) build(ctx context.Context, module, into string) (string, error) {
	if err := os.MkdirAll(into, 0o755); err != nil {
		return "", fmt.Errorf("build %s: %w", p.name, err)
	}
	lock, err := os.OpenFile(filepath.Join(into, "."+p.name+".lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", p.name, err)
	}
	defer func() { _ = lock.Close() }() // which gives it back
	if err := filelock.Wait(lock); err != nil {
		return "", fmt.Errorf("build %s: wait for others that build it: %w", p.name, err)
	}
	path := filepath.Join(into, p.name)
	if upToDate(path, module, filepath.Join(module, "tool"), filepath.Join(module, p.folder)) {
		return path, nil
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-C", module, "-buildvcs=false", "-o", path, "./"+p.folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", p.name, err, out)
	}
	return path, nil
}

// upToDate reports whether a program is newer than all files of its source. The compiler would know better, and take
// seconds for that in every test.
func upToDate(path string, sources ...string) bool {
	made, err := os.Stat(path)
	if err != nil {
		return false
	}
	for _, source := range sources {
		files, err := os.ReadDir(source)
		if err != nil {
			return false
		}
		for _, f := range files {
			if info, err := f.Info(); err != nil || info.ModTime().After(made.ModTime()) {
				return false
			}
		}
	}
	return true
}

// Run has the program of the readers read something and returns what it prints.
func Run(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	path, err := readers.path(ctx)
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin, cmd.Stderr = in, &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", readers.name, strings.Join(args, " "), err, bytes.TrimSpace(said.Bytes()))
	}
	return out, nil
}

// Server is a server of the program's. It ends with this process.
type Server struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	said bytes.Buffer // its errors

	mu  sync.Mutex // of a command and its answer
	out *bufio.Reader
}

// Start starts a server and reads into where, from JSON, where it is. The context is that of the start only.
func Start(ctx context.Context, where any, args ...string) (*Server, error) {
	path, err := servers.path(ctx)
	if err != nil {
		return nil, err
	}
	s := &Server{cmd: exec.Command(path, args...)}
	s.cmd.Stderr = &s.said
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt of a terminal is for this process, which then ends it
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", servers.name, err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", servers.name, err)
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", servers.name, err)
	}
	undo := context.AfterFunc(ctx, func() { _ = s.cmd.Process.Kill() })
	line, err := s.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, where)
	}
	if !undo() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s %s: %w", servers.name, args[0], err), s.Close())
	}
	return s, nil
}

// Ask has the server do something and returns its answer.
func (s *Server) Ask(command string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := io.WriteString(s.in, command+"\n"); err != nil {
		return "", fmt.Errorf("%s: %s: %w", servers.name, command, err)
	}
	line, err := s.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("%s: %s: %w", servers.name, command, err)
	}
	return strings.TrimSuffix(line, "\n"), nil
}

// Close ends the server.
func (s *Server) Close() error {
	err := s.in.Close()
	late := time.AfterFunc(endWait, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	if ended := s.cmd.Wait(); ended != nil {
		err = errors.Join(err, fmt.Errorf("%s: %w: %s", servers.name, ended, bytes.TrimSpace(s.said.Bytes())))
	}
	return err
}
