package guestvm

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/gantry-market/gantry/agent/network"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/internal/testkit/nettest"
)

// envRole says what a copy of this binary plays.
const envRole = "GANTRY_GUESTVM_TEST"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == InternalCommand {
		os.Exit(InternalMain(os.Args[2:]))
	}
	role, found := map[string]func() error{"qemu": playQEMU, "swtpm": playTPM, "agent": playAgent}[os.Getenv(envRole)]
	if !found {
		os.Exit(m.Run())
	}
	if err := role(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// told is how many records the guest of playQEMU gives.
const told = 40

// playQEMU is a machine whose guest answers a moment after its start. It forgets records as the measured guest does.
func playQEMU() error {
	time.Sleep(time.Second)
	port, err := net.FileConn(os.NewFile(3, "port"))
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var first uint64
	err = control.Serve(context.Background(), port, func(_ context.Context, q control.Question) (a control.Answer, err error) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case q.Deploy != nil:
			a.Receipt = &control.Receipt{}
		case q.Output != nil && q.Output.From < first:
			return a, errors.New("these records are gone")
		case q.Output != nil:
			time.Sleep(50 * time.Millisecond)
			first = q.Output.From
			a.Output = &control.OutputAnswer{Records: [][]byte{fmt.Appendf(nil, "record %d", first)}, Over: first == told-1}
		}
		return a, nil
	})
	if errors.Is(err, control.ErrOff) {
		return nil
	}
	return err
}

// playTPM has the socket of a TPM.
func playTPM() error {
	for _, arg := range os.Args {
		if path, ok := strings.CutPrefix(arg, "type=unixio,path="); ok {
			if _, err := net.Listen("unix", path); err != nil {
				return err
			}
		}
	}
	select {}
}

// playAgent is an agent up to the word in the environment, and hangs then. It says words on its way.
func playAgent() error {
	folder, until := os.Getenv("FOLDER"), os.Getenv("UNTIL")
	say := func(word string) {
		fmt.Println(word)
		if word == until {
			select {}
		}
	}
	o := Options{Settings: settingsIn(folder), Folder: folder, Log: zerolog.Nop()}
	if os.Getenv("NETWORK") != "" {
		n, err := network.New(network.Options{Owner: folder})
		if err != nil {
			return err
		}
		o.Network = n.Plan
	}
	r, err := New(none{}, o)
	if err != nil {
		return err
	}
	for {
		_, err := r.Of("lease", small)
		if err == nil {
			break
		}
		if !errors.Is(err, ErrBoots) {
			return err
		}
		say("boots")
		time.Sleep(10 * time.Millisecond)
	}
	say("answers")
	if err := r.Bring("lease", [32]byte{}, []byte("x")); err != nil {
		return err
	}
	say("brought")
	if _, err := r.Start(context.Background(), runtime.Spec{LeaseID: "lease", Guest: true}); err != nil {
		return err
	}
	say("runs")
	return errors.New("nobody has ended this agent")
}

func settingsIn(folder string) Settings {
	return Settings{Image: filepath.Join(folder, "guest.efi"), Firmware: filepath.Join(folder, "CODE.fd"), Accelerator: TCG}
}

// killedAgent has an agent in a process of its own, which is killed at a word. It returns the next agent.
func killedAgent(t *testing.T, until string, env ...string) *Runtime {
	t.Helper()
	bin, err := os.MkdirTemp("", "gantry-guestvm-test-") // QEMU is another user where this is root
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(bin)) })
	require.NoError(t, os.Chmod(bin, 0o755))
	program, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(bin, "program"), program, 0o755))
	for name, role := range map[string]string{qemu: "qemu", "swtpm": "swtpm", "swtpm_setup": "", "swtpm_localca": "", "certtool": ""} {
		script := "#!/bin/sh\n"
		if role != "" {
			script += "exec /usr/bin/env " + envRole + "=" + role + " " + bin + `/program "$@"` + "\n"
		}
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755))
	}
	folder := t.TempDir()
	s := settingsIn(folder)
	for _, path := range []string{s.Image, s.Firmware, s.vars()} {
		require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	}
	agent := exec.Command(filepath.Join(bin, "program"))
	agent.Env = []string{"PATH=" + bin, envRole + "=agent", "FOLDER=" + folder, "UNTIL=" + until}
	agent.Env = append(agent.Env, env...)
	var said bytes.Buffer
	agent.Stderr = &said
	out, err := agent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, agent.Start())
	lines := bufio.NewScanner(out)
	word := ""
	for word != until && lines.Scan() {
		word = lines.Text()
	}
	require.NoError(t, agent.Process.Signal(syscall.SIGKILL))
	_ = agent.Wait()
	require.Equal(t, until, word, said.String())
	t.Setenv("PATH", bin)
	r, err := New(none{}, Options{Settings: s, Folder: folder, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() {
		r.Close()
		if g := r.guestOf("lease"); g != nil {
			require.NoError(t, g.stop(context.Background()))
			if t.Failed() {
				log, _ := os.ReadFile(filepath.Join(g.dir, supervisorLog))
				t.Logf("%s", log)
			}
		}
	})
	return r
}

// processesOf waits until all processes of a guest are known, which must live.
func processesOf(t *testing.T, g *remote) (p runRecord) {
	t.Helper()
	require.Eventually(t, func() bool { return readFile(g.dir, runFile, &p) == nil && p.QEMU.PID != 0 }, time.Minute, poll)
	require.True(t, p.Supervisor.Alive())
	require.True(t, p.QEMU.Alive())
	require.True(t, p.TPM.Alive())
	require.DirExists(t, p.Folder)
	return p
}

// nothingLeft: no process, no file.
func nothingLeft(t *testing.T, p runRecord) {
	t.Helper()
	nothingRuns(t, p)
	require.NoDirExists(t, p.Folder)
}

func nothingRuns(t *testing.T, p runRecord) {
	t.Helper()
	for name, id := range map[string]runtime.ProcID{"supervisor": p.Supervisor, "QEMU": p.QEMU, "TPM": p.TPM} {
		require.Eventually(t, func() bool { return !id.Alive() }, time.Minute, poll, name)
	}
}

// An agent is killed with SIGKILL, at any step of a guest. Machine, TPM and supervisor go on. The next agent does what is left, has each
// record once, and nothing remains after the job.
func TestAKilledAgent(t *testing.T) {
	for _, until := range []string{"boots", "answers", "brought", "runs"} {
		t.Run(until, func(t *testing.T) {
			r := killedAgent(t, until)
			g := r.guestOf("lease")
			require.NotNil(t, g)
			p := processesOf(t, g)
			if until == "boots" || until == "answers" {
				answers(t, r, "lease")
				require.NoError(t, r.Bring("lease", [32]byte{}, []byte("x")))
			}
			if until != "runs" {
				_, err := r.Start(t.Context(), runtime.Spec{LeaseID: "lease", Guest: true})
				require.NoError(t, err)
			}
			st, err := r.Status(t.Context(), "lease")
			require.NoError(t, err)
			require.Equal(t, runtime.Running, st.Phase)
			all := records(t, r, "lease")
			require.Len(t, all, told)
			for i, record := range all {
				require.Equal(t, fmt.Sprintf("record %d", i), string(record))
			}
			st, err = r.Status(t.Context(), "lease")
			require.NoError(t, err)
			require.Equal(t, ReasonSealed, st.Exit.Reason)
			nothingLeft(t, p)
			require.NoError(t, r.Remove(t.Context(), "lease"))
			require.NoDirExists(t, g.dir)
		})
	}
}

// A guest whose agent was killed ends with its lease: the next agent stops it, and nothing is left.
func TestAKilledAgentAndAnEndedLease(t *testing.T) {
	for _, until := range []string{"boots", "answers", "runs"} {
		t.Run(until, func(t *testing.T) {
			r := killedAgent(t, until)
			g := r.guestOf("lease")
			p := processesOf(t, g)
			_, err := r.Stop(t.Context(), "lease", 0)
			require.NoError(t, err)
			nothingLeft(t, p)
			require.NoError(t, r.Remove(t.Context(), "lease"))
			require.NoDirExists(t, g.dir)
		})
	}
}

// A job that ends while there is no agent has its records, its end and the time of that end. The next agent finds them.
func TestAJobThatEndsWithoutAnAgent(t *testing.T) {
	r := killedAgent(t, "runs")
	g := r.guestOf("lease")
	p := processesOf(t, g)
	r.Close()
	nothingLeft(t, p)
	over := time.Now()
	next, err := New(none{}, r.o)
	require.NoError(t, err)
	st, err := next.Status(t.Context(), "lease")
	require.NoError(t, err)
	require.Equal(t, runtime.Exited, st.Phase)
	require.Equal(t, ReasonSealed, st.Exit.Reason)
	require.False(t, st.Exit.FinishedAt.After(over), "it is not when the next agent came")
	require.Len(t, records(t, next, "lease"), told)
	require.ErrorIs(t, next.Extend(t.Context(), "lease", time.Hour), runtime.ErrOver)
}

// A supervisor that is killed takes its guest along, also while no agent is there. The job is lost, and ended when the supervisor did.
func TestAKilledSupervisor(t *testing.T) {
	r := killedAgent(t, "runs")
	g := r.guestOf("lease")
	p := processesOf(t, g)
	require.NoError(t, p.Supervisor.Signal(syscall.SIGKILL))
	for _, id := range []runtime.ProcID{p.Supervisor, p.QEMU, p.TPM} {
		require.Eventually(t, func() bool { return !id.Alive() }, time.Minute, poll)
	}
	// The first thread of a process is gone before the others, which hold its lock until they are.
	require.Eventually(t, func() bool { return !g.supervised() }, time.Minute, poll)
	killed := time.Now()
	require.DirExists(t, p.Folder)
	// What it was writing may be half there.
	f, err := os.OpenFile(filepath.Join(g.dir, outputFile), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.Write([]byte{0, 0, 0, 9, 'h'})
	require.NoError(t, errors.Join(err, f.Close()))

	next, err := New(none{}, r.o)
	require.NoError(t, err)
	st, err := next.Status(t.Context(), "lease")
	require.NoError(t, err)
	require.Equal(t, runtime.Lost, st.Phase)
	require.WithinDuration(t, killed, st.LostAt, touchEvery+time.Second)
	require.NoDirExists(t, p.Folder)
	for i, record := range records(t, next, "lease") {
		require.Equal(t, fmt.Sprintf("record %d", i), string(record), "what was whole is there")
	}
	require.ErrorIs(t, next.Extend(t.Context(), "lease", time.Hour), runtime.ErrOver)
	_, err = next.Start(t.Context(), runtime.Spec{LeaseID: "lease", Guest: true})
	require.ErrorIs(t, err, runtime.ErrExists)
	require.NoError(t, next.Remove(t.Context(), "lease"))
	require.NoDirExists(t, g.dir)
}

// interfaces are those of leases.
func interfaces(t *testing.T) (names []string) {
	t.Helper()
	all, err := netlink.LinkList()
	require.NoError(t, err)
	for _, l := range all {
		if name := l.Attrs().Name; strings.HasPrefix(name, "gl") {
			names = append(names, name)
		}
	}
	return names
}

// The network of a guest goes on without its agent: the next one leaves it alone, until the guest ends or its supervisor was killed.
func TestTheNetworkOfAGuestOutlivesItsAgent(t *testing.T) {
	if !nettest.Enter(t) {
		return
	}
	nettest.Internet(t, nettest.Web, nettest.Resolver)
	for name, end := range map[string]func(*Runtime, runRecord){
		"stopped": func(r *Runtime, _ runRecord) {
			_, err := r.Stop(t.Context(), "lease", 0)
			require.NoError(t, err)
		},
		"killed": func(r *Runtime, p runRecord) {
			require.NoError(t, p.Supervisor.Signal(syscall.SIGKILL))
			require.Eventually(t, func() bool {
				st, err := r.Status(t.Context(), "lease")
				require.NoError(t, err)
				return st.Phase == runtime.Lost
			}, time.Minute, poll)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := killedAgent(t, "runs", "NETWORK=1")
			p := processesOf(t, r.guestOf("lease"))
			require.Len(t, interfaces(t), 1)
			n, err := network.New(network.Options{Owner: r.o.Folder})
			require.NoError(t, err)
			live, err := Live(r.o.Folder)
			require.NoError(t, err)
			require.NoError(t, n.Sweep(live))
			require.Len(t, interfaces(t), 1)
			end(r, p)
			require.Empty(t, interfaces(t))
			tables, err := network.Tables()
			require.NoError(t, err)
			require.Empty(t, tables)
			nothingLeft(t, p)
		})
	}
}

// A supervisor that is asked to end ends its guest and says that the job is lost. A machine that is switched off ends all processes at
// once: the guest's end, which may come first, is not the guest's own.
func TestASupervisorIsToldToEnd(t *testing.T) {
	for name, guestFirst := range map[string]bool{"alone": false, "after its guest": true} {
		t.Run(name, func(t *testing.T) {
			r := killedAgent(t, "runs")
			p := processesOf(t, r.guestOf("lease"))
			if guestFirst {
				require.NoError(t, p.QEMU.Signal(syscall.SIGKILL))
				time.Sleep(shutdownLag / 4)
			}
			require.NoError(t, p.Supervisor.Signal(syscall.SIGTERM))
			nothingLeft(t, p)
			st, err := r.Status(t.Context(), "lease")
			require.NoError(t, err)
			require.Equal(t, runtime.Lost, st.Phase)
		})
	}
}

// A supervisor that hangs is killed within the time of one action, and takes its guest along.
func TestASupervisorThatHangs(t *testing.T) {
	r := killedAgent(t, "runs")
	p := processesOf(t, r.guestOf("lease"))
	require.NoError(t, p.Supervisor.Signal(syscall.SIGSTOP))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // as package lease gives an action
	defer cancel()
	_, err := r.Stop(ctx, "lease", time.Second)
	require.NoError(t, err)
	nothingLeft(t, p)
}

// An agent that was killed while it removed a lease's folder starts again, and so does one with a lease that cannot be read.
func TestHalfAFolder(t *testing.T) {
	r := killedAgent(t, "runs")
	g := r.guestOf("lease")
	p := processesOf(t, g)
	require.NoError(t, p.Supervisor.Signal(syscall.SIGKILL))
	nothingRuns(t, p)
	require.Eventually(t, func() bool { return !g.supervised() }, time.Minute, poll)
	require.NoError(t, errors.Join(os.Remove(filepath.Join(g.dir, planFile)), os.Remove(filepath.Join(g.dir, stateFile))))
	broken := r.dir("broken")
	require.NoError(t, os.MkdirAll(broken, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(broken, stateFile), []byte("{"), 0o600))
	left, err := Left(r.o.Folder)
	require.NoError(t, err)
	require.True(t, left)
	next, err := New(none{}, r.o)
	require.NoError(t, err)
	require.NoDirExists(t, g.dir)
	require.NotNil(t, next.guestOf("broken"), "it is tried again")
}

// What reaches a supervisor in pieces, or is none of its requests, does it no harm.
func TestBrokenRequests(t *testing.T) {
	r, _ := running(t)
	g := r.guestOf("lease")
	for _, text := range []string{"", `{"do":"st`, "not JSON\n", `{"do":"bring","key":"AQ=="}` + "\n", `{"do":"start"}` + "\n", `{"do":"fly"}` + "\n"} {
		path, done, err := socketPath(g.dir)
		require.NoError(t, err)
		c, err := net.Dial("unix", path)
		done()
		require.NoError(t, err)
		_, err = io.WriteString(c, text)
		require.NoError(t, err)
		require.NoError(t, c.(*net.UnixConn).CloseWrite())
		answer, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, strings.HasPrefix(text, `{"do":"`) && strings.HasSuffix(text, "\n"), strings.Contains(string(answer), "failed"), "%q: %q", text, answer)
		require.NoError(t, c.Close())
	}
	require.ErrorContains(t, do(t.Context(), g.dir, request{Do: "fly"}), "another version")
	st, err := r.Status(t.Context(), "lease")
	require.NoError(t, err)
	require.Equal(t, runtime.Running, st.Phase)
}
