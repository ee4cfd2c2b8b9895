package machine

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Environment variables that make this program something else than the tests: the machine of a file, its agent, or a trial.
const (
	asMachine = "GANTRY_TEST_MACHINE"
	asAgent   = "GANTRY_TEST_AGENT"
)

func TestMain(m *testing.M) {
	var err error
	switch path, listen := os.Getenv(asMachine), os.Getenv(asAgent); {
	case len(os.Args) == 2 && os.Args[1] == "--"+TryFlag:
		err = RunTry()
	case listen != "":
		err = agent(listen, os.Args[len(os.Args)-1])
	case path != "":
		var s Spec
		if s, err = Read(path); err == nil {
			_ = os.Setenv(asAgent, s.Serve)
			err = Run(context.Background(), s)
		}
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// agent tells everyone who connects what another address answers, and which interfaces there are.
func agent(listen, other string) error {
	l, err := net.Listen("tcp4", listen)
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		text, err := func() (string, error) {
			o, err := net.Dial("tcp4", other)
			if err != nil {
				return "", err
			}
			defer o.Close()
			raw, err := io.ReadAll(o)
			return string(raw), err
		}()
		links, _ := net.Interfaces()
		var names []string
		for _, i := range links {
			names = append(names, i.Name)
		}
		fmt.Fprintln(c, text, err, strings.Join(names, " "))
		c.Close()
	}
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}

// needs skips where no machine can run.
func needs(t *testing.T) {
	t.Helper()
	if err := Try(t.Context(), self(t)); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func TestAMachineHasANetworkOfItsOwn(t *testing.T) {
	needs(t)
	near, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer near.Close()
	go answer(near, "the computer")
	far, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer far.Close()
	go answer(far, "what the machine must not reach")

	// Deeper than the path of a socket may be long.
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 100))
	require.NoError(t, os.Mkdir(dir, 0o700))
	s := Spec{Reach: []string{near.Addr().String()}, Serve: freeAddr(t), Asked: filepath.Join(dir, "m.sock"), Agent: []string{self(t), near.Addr().String()}}
	path := filepath.Join(dir, "machine.json")
	require.NoError(t, s.Write(path))
	cmd := exec.Command(self(t))
	cmd.Env, cmd.Dir = append(os.Environ(), asMachine+"="+path), dir
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: Namespaces, Setpgid: true}
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill(); <-ended }()

	said := func() string {
		c, err := net.Dial("tcp4", s.Serve)
		if err != nil {
			return ""
		}
		defer c.Close()
		raw, _ := io.ReadAll(c)
		return string(raw)
	}
	var text string
	require.Eventually(t, func() bool { text = said(); return text != "" }, time.Minute, 20*time.Millisecond)
	require.Contains(t, text, "the computer answers 127.0.0.1")
	require.Contains(t, text, "lo "+uplink)

	for _, a := range append([]string{Web}, Private...) {
		answered, err := Ask(t.Context(), s.Asked, net.JoinHostPort(a, Port))
		require.NoError(t, err, a)
		require.Equal(t, "the internet answers "+Host+"\n", answered)
	}
	for _, a := range []string{Host, LAN} {
		answered, err := Ask(t.Context(), s.Asked, net.JoinHostPort(a, Port))
		require.NoError(t, err)
		require.Contains(t, answered, "the machine answers ")
	}
	_, err = Ask(t.Context(), s.Asked, far.Addr().String())
	require.ErrorContains(t, err, "connection refused")

	after, err := net.Interfaces()
	require.NoError(t, err)
	for _, i := range after {
		require.NotEqual(t, uplink, i.Name)
	}

	// Nothing of it outlives its first process, which gets no time to clean up.
	require.NoError(t, cmd.Process.Kill())
	<-ended
	processes, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, p := range processes {
		if raw, err := os.ReadFile(p); err == nil {
			require.NotContains(t, string(raw), asMachine+"="+path)
		}
	}
}

// A machine with a service manager starts an agent again that was killed; one without ends with it.
func TestAMachineOutlivesItsAgent(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	file := filepath.Join(t.TempDir(), "starts")
	s := Spec{Service: true, Agent: []string{"sh", "-c", "echo x >>" + file + "; [ $(wc -l <" + file + ") -gt 1 ] || kill -9 $$; exec sleep 300"}}
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, s) }()
	starts := func() int {
		raw, _ := os.ReadFile(file)
		return strings.Count(string(raw), "x")
	}
	require.Eventually(t, func() bool { return starts() == 2 }, time.Minute, 10*time.Millisecond)
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
	s.Service = false
	s.Agent = []string{"false"}
	require.ErrorContains(t, serve(t.Context(), s), "exit status 1")
}

func TestAMachineIsNotRunInOthersNamespaces(t *testing.T) {
	require.ErrorIs(t, Run(t.Context(), Spec{Agent: []string{"true"}}), ErrSpec)
	require.ErrorIs(t, RunTry(), ErrSpec)
	if os.Geteuid() != 0 {
		require.ErrorIs(t, Try(t.Context(), self(t)), ErrUnavailable)
		return
	}
	err := Try(t.Context(), "false")
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "exit status 1")
}

func TestFilesOfMachines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.json")
	want := Spec{Reach: []string{"127.0.0.1:1"}, Serve: "127.0.0.1:2", Asked: "/x", Agent: []string{"agent", "run"}}
	require.NoError(t, want.Write(path))
	got, err := Read(path)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.NoError(t, Spec{}.Write(path))
	_, err = Read(path)
	require.ErrorIs(t, err, ErrSpec)
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, err = Read(path)
	require.ErrorIs(t, err, ErrSpec)
	_, err = Read(path + "x")
	require.ErrorIs(t, err, ErrSpec)
}
