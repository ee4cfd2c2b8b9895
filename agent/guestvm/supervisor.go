package guestvm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/agent/network"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/internal/atomicfile"
	"github.com/gantry-market/gantry/internal/wait"
)

// InternalCommand is the hidden subcommand under which the agent's binary must call [InternalMain] before it does anything else, as
// that of package runtime.
const InternalCommand = "internal-guest"

// Stages of InternalCommand.
const (
	stageDetach    = "detach"    // starts the supervisor and leaves it behind
	stageSupervise = "supervise" // lives as long as the guest
)

// fdLock is the lock of the lease's folder in both stages. The agent takes it, so that it is held from before the supervisor's start to
// its end.
const fdLock = 3

// self is this very binary, also after its file was replaced by an upgrade.
const self = "/proc/self/exe"

// InternalMain runs a stage ("STAGE DIR") and returns the exit status. It is not meant for people.
func InternalMain(args []string) int {
	if len(args) != 2 {
		fmt.Fprintln(os.Stderr, InternalCommand+" is used by the agent itself and takes a stage and a directory")
		return 2
	}
	unix.CloseOnExec(fdLock)
	lock := os.NewFile(fdLock, "lock")
	var err error
	switch args[0] {
	case stageDetach:
		err = detach(args[1], lock)
	case stageSupervise:
		signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		err = supervise(ctx, args[1], lock, boot, zerolog.New(os.Stderr).With().Timestamp().Logger())
		stop()
	default:
		err = fmt.Errorf("unknown stage %q", args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// stage is a command of this binary for a lease's folder.
func stage(name, dir string, lock *os.File) *exec.Cmd {
	cmd := exec.Command(self, InternalCommand, name, dir)
	cmd.Args[0] = "gantry-agent"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}
	cmd.ExtraFiles = []*os.File{lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// spawn starts a supervisor. The agent does not wait for it, and cannot take it along.
func spawn(dir string, lock *os.File) error {
	if out, err := stage(stageDetach, dir, lock).CombinedOutput(); err != nil {
		return fmt.Errorf("start the supervisor of a guest: %w: %s", err, out)
	}
	return nil
}

// detach starts the supervisor and returns at once, so that its parent becomes init.
func detach(dir string, lock *os.File) error {
	log, err := os.OpenFile(filepath.Join(dir, supervisorLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("log of a guest: %w", err)
	}
	defer log.Close()
	cmd := stage(stageSupervise, dir, lock)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the supervisor of a guest: %w", err)
	}
	return cmd.Process.Release()
}

// plan is what the agent tells a supervisor.
type plan struct {
	Lease    string        `json:"lease"`
	Settings Settings      `json:"settings"`
	Folder   string        `json:"folder"` // of the guests
	Share    Share         `json:"share"`
	Network  *network.Plan `json:"network,omitempty"` // nil: as the supervisor is connected
}

// runRecord says who runs a guest. A pid counts only together with its start time.
type runRecord struct {
	Supervisor runtime.ProcID `json:"supervisor"`
	QEMU       runtime.ProcID `json:"qemu"`
	TPM        runtime.ProcID `json:"tpm"`
	Folder     string         `json:"folder"` // QEMU's and the TPM's
}

// recorder keeps the run record of a folder.
type recorder struct {
	dir string
	runRecord
}

// note writes down what has changed.
func (r *recorder) note(change func(*runRecord) error) error {
	if r == nil {
		return nil
	}
	if err := change(&r.runRecord); err != nil {
		return err
	}
	return writeFile(r.dir, runFile, r.runRecord)
}

// failure says why a guest has ended before it had a job.
type failure struct {
	Why string `json:"why"`
}

func writeFile(dir, name string, v any) error {
	raw, err := json.Marshal(v)
	if err == nil {
		err = atomicfile.WriteSynced(filepath.Join(dir, name), raw)
	}
	if err != nil {
		return fmt.Errorf("%s of a guest: %w", name, err)
	}
	return nil
}

func readFile(dir, name string, v any) error {
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		return fmt.Errorf("%s of a guest: %w", name, err)
	}
	return nil
}

// bootFunc is boot, but in tests.
type bootFunc func(ctx context.Context, o Options, lease string, share Share) (*machine, error)

// supervise runs the guest of a lease's folder to its end. It holds the lock meanwhile.
func supervise(ctx context.Context, dir string, lock *os.File, boot bootFunc, log zerolog.Logger) error {
	defer lock.Close()
	var p plan
	if err := readFile(dir, planFile, &p); err != nil {
		return err
	}
	me, err := runtime.Identify(os.Getpid())
	if err != nil {
		return err
	}
	record := &recorder{dir: dir}
	if err := record.note(func(r *runRecord) error { r.Supervisor = me; return nil }); err != nil {
		return err
	}
	l, err := listen(dir)
	if err != nil {
		return err
	}
	o := Options{Settings: p.Settings, Folder: p.Folder, Log: log, record: record}
	if p.Network != nil {
		o.Network = func() (network.Plan, error) { return *p.Network, nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g := &guest{lease: p.Lease, dir: dir, log: log, cancel: cancel}
	var serving sync.WaitGroup
	serving.Go(func() { g.serve(ctx, l) })
	g.run(ctx, boot, o, p.Share)
	cancel()
	err = l.Close()
	serving.Wait()
	return err
}

// serve answers agents until the socket is closed. Each of them may end in the middle of a request, and another one come.
func (g *guest) serve(ctx context.Context, l net.Listener) {
	var connections sync.WaitGroup
	defer connections.Wait()
	for {
		c, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // such as no free descriptor
			g.log.Error().Err(err).Msg("an agent cannot reach this guest now")
			if wait.For(ctx, time.Second) != nil {
				return
			}
			continue
		}
		connections.Go(func() {
			defer c.Close()
			g.answer(ctx, newLined(c))
		})
	}
}

// answer does what one request asks for.
func (g *guest) answer(ctx context.Context, c lined) {
	_ = c.SetReadDeadline(time.Now().Add(askLimit)) // an agent says at once what it wants
	var q request
	if err := c.readLine(&q); err != nil {
		return // an agent that was killed
	}
	var err error
	var client *control.Client
	switch q.Do {
	case doAsk:
		client, err = g.ask()
	case doBring:
		if len(q.Key) != 32 {
			err = ErrNoGuest
			break
		}
		err = g.bring(control.DeployQuestion{Key: [32]byte(q.Key), Sealed: q.Sealed})
	case doStart:
		if q.Spec == nil {
			err = runtime.ErrSpec
			break
		}
		err = g.start(ctx, *q.Spec)
	case doExtend:
		err = g.prolong(q.Left)
	case doStop:
		g.end(runtime.ReasonStopped)
	default:
		err = fmt.Errorf("this guest's supervisor is of another version, and does not know %.32q: let the lease end", q.Do)
	}
	if c.writeLine(replyOf(err)) != nil || client == nil || c.SetReadDeadline(time.Time{}) != nil {
		return
	}
	err = control.Serve(ctx, c.unlimited(), questions{client}.answer)
	g.log.Debug().Err(err).Msg("an agent asks no more")
}

// questions passes those of the lease's customer on. The job and its records are the supervisor's matter.
type questions struct{ *control.Client }

func (c questions) answer(ctx context.Context, q control.Question) (control.Answer, error) {
	out, err := c.pass(ctx, q)
	if errors.Is(err, control.ErrRefused) { // the agent's side says so again
		err = errors.New(strings.TrimPrefix(err.Error(), control.ErrRefused.Error()+": "))
	}
	return out, err
}

func (c questions) pass(ctx context.Context, q control.Question) (out control.Answer, err error) {
	switch {
	case q.Keys != nil:
		r, err := c.Keys(ctx)
		out.Keys = &control.KeysAnswer{AK: r.AK, EK: r.EK, Chain: r.Chain}
		return out, err
	case q.Activate != nil:
		out.Secret, err = c.Activate(ctx, tpm.Credential{IDObject: q.Activate.IDObject, EncryptedSeed: q.Activate.EncryptedSeed})
		return out, err
	case q.Evidence != nil:
		x := q.Evidence
		b, findings, err := c.Evidence(ctx, attest.Challenge{
			GenesisHash: x.Genesis, Program: x.Program, ID: x.ID, Node: x.Node, NodeKey: x.NodeKey, SlotHash: x.SlotHash, Expiry: x.Expiry,
		}, seal.Subject{Lease: x.Lease, Job: x.Job})
		if err != nil {
			return out, err
		}
		out.Findings = findings
		out.Bundle, err = b.Encode()
		return out, err
	}
	return out, errors.New("a guest's supervisor passes no such question on")
}
