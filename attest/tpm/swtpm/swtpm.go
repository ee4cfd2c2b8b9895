package swtpm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-tpm/tpm2/transport"
	"github.com/google/go-tpm/tpm2/transport/linuxudstpm"
)

const (
	// maxSocketPath is what sockaddr_un holds on Linux, less the final zero.
	maxSocketPath = 107
	startTimeout  = 20 * time.Second
	stopTimeout   = 5 * time.Second
)

// ErrUnavailable: the programs that make up the software TPM are not installed.
var ErrUnavailable = errors.New("no software TPM here: install the packages swtpm and swtpm-tools")

// Available returns nil where a software TPM can be started, otherwise ErrUnavailable with the missing program's name.
func Available() error {
	for _, name := range []string{"swtpm", "swtpm_setup", "swtpm_localca", "certtool"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%s: %w", name, ErrUnavailable)
		}
	}
	return nil
}

// TPM is a running software TPM. The process belongs to it: Close ends it.
type TPM struct {
	dir     string
	machine bool // it waits for a virtual machine
	cmd     *exec.Cmd
	done    chan error
	logFile *os.File
}

// Start manufactures a TPM in dir, which must exist, with an endorsement key certificate issued by ca, and runs it
// until Close. A dir that was used before keeps its TPM: only its volatile state, such as PCRs, begins anew. The path
// of dir must be short: the socket's name in it has to fit into 107 bytes.
func Start(ctx context.Context, ca *CA, dir string) (*TPM, error) {
	return start(ctx, ca, dir, false)
}

// StartForMachine is Start for a virtual machine of QEMU, which switches the TPM on and off by the socket [TPM.Control]. The TPM
// ends with the machine.
func StartForMachine(ctx context.Context, ca *CA, dir string) (*TPM, error) {
	return start(ctx, ca, dir, true)
}

func start(ctx context.Context, ca *CA, dir string, machine bool) (*TPM, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("start software TPM: %w", err)
	}
	t := &TPM{dir: dir, machine: machine}
	if n := len(t.Control()); n > maxSocketPath {
		return nil, fmt.Errorf("start software TPM: socket path %s has %d bytes, at most %d are possible", t.Control(), n, maxSocketPath)
	}
	if err := t.manufacture(ctx, ca); err != nil {
		return nil, err
	}
	if err := t.run(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

// Socket is the path of the unix socket that takes TPM commands.
func (t *TPM) Socket() string { return filepath.Join(t.dir, "tpm.sock") }

// Control is the path of the unix socket by which the TPM is switched on and off.
func (t *TPM) Control() string { return filepath.Join(t.dir, "tpm.sock.ctrl") }

func (t *TPM) state() string { return filepath.Join(t.dir, "state") }

// PID is the process of a TPM that was not closed.
func (t *TPM) PID() int { return t.cmd.Process.Pid }

// Open connects to the TPM.
func (t *TPM) Open() (transport.TPMCloser, error) { return linuxudstpm.Open(t.Socket()) }

// manufacture creates keys and certificates as a manufacturer would, unless the folder holds a TPM already.
func (t *TPM) manufacture(ctx context.Context, ca *CA) error {
	if _, err := os.Stat(filepath.Join(t.state(), "tpm2-00.permall")); err == nil {
		return nil
	}
	if err := os.MkdirAll(t.state(), 0o700); err != nil {
		return fmt.Errorf("manufacture software TPM: %w", err)
	}
	config, err := ca.config()
	if err != nil {
		return err
	}
	args := []string{
		"--tpm2", "--tpmstate", t.state(), "--create-ek-cert", "--create-platform-cert", "--ecc", "--lock-nvram", "--config", config,
	}
	if os.Geteuid() == 0 {
		// Otherwise it would change to a user that cannot read the folder.
		args = append(args, "--runas", "root")
	}
	out, err := exec.CommandContext(ctx, "swtpm_setup", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("swtpm_setup: %w: %s", err, lastLines(string(out), 5))
	}
	return nil
}

func (t *TPM) run(ctx context.Context) error {
	for _, socket := range []string{t.Socket(), t.Control()} {
		if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("start software TPM: %w", err)
		}
	}
	logFile, err := os.Create(filepath.Join(t.dir, "swtpm.log"))
	if err != nil {
		return fmt.Errorf("start software TPM: %w", err)
	}
	// Not bound to ctx: that bounds the start, the TPM runs until Close.
	args := []string{"socket", "--tpm2", "--ctrl", "type=unixio,path=" + t.Control(), "--tpmstate", "dir=" + t.state()}
	if !t.machine {
		args = append(args, "--server", "type=unixio,path="+t.Socket(), "--flags", "not-need-init,startup-clear")
	}
	cmd := exec.Command("swtpm", args...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = logFile, logFile, endsWithParent()
	started, done := make(chan error), make(chan error, 1)
	go func() {
		// The process ends with the thread that started it, so this one stays until then.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			done <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		_ = logFile.Close()
		return fmt.Errorf("start software TPM: %w", err)
	}
	t.cmd, t.logFile, t.done = cmd, logFile, done
	if err := t.awaitSocket(ctx); err != nil {
		return errors.Join(err, t.Close())
	}
	return nil
}

func (t *TPM) awaitSocket(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if t.listens(ctx) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("software TPM does not listen on %s: %w", t.Socket(), ctx.Err())
		case err := <-t.done:
			t.done <- err
			text, _ := os.ReadFile(t.logFile.Name())
			return fmt.Errorf("software TPM ended at once (%v): %s", err, lastLines(string(text), 3))
		case <-tick.C:
		}
	}
}

// listens reports whether the TPM can be used. One that waits for a virtual machine takes a single connection, which is left to it.
func (t *TPM) listens(ctx context.Context) bool {
	if t.machine {
		_, err := os.Stat(t.Control())
		return err == nil
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", t.Socket())
	return err == nil && conn.Close() == nil
}

// Close ends the TPM's process and waits for it. It may be called more than once.
func (t *TPM) Close() error {
	if t.cmd == nil {
		return nil
	}
	defer func() {
		t.cmd = nil
		_ = t.logFile.Close()
	}()
	t.shutdown()
	if err := t.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end software TPM: %w", err)
	}
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-t.done:
	case <-timer.C:
		if err := t.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("end software TPM: %w", err)
		}
		<-t.done
	}
	return nil
}

// shutdown tells the TPM that the power goes off; without it the TPM counts the power cut as a wrong password. Nothing
// is lost when this fails, so the error is ignored.
func (t *TPM) shutdown() {
	if t.machine {
		return // QEMU has done so
	}
	conn, err := net.DialTimeout("unix", t.Socket(), stopTimeout)
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(stopTimeout))
	// TPM2_Shutdown(TPM_SU_CLEAR): tag, size, command code, type.
	if _, err := conn.Write([]byte{0x80, 0x01, 0, 0, 0, 12, 0, 0, 0x01, 0x45, 0, 0}); err == nil {
		_, _ = conn.Read(make([]byte, 64))
	}
}

// Restart is a reboot: the TPM forgets its PCRs and its transient keys, and its reset counter goes up.
func (t *TPM) Restart(ctx context.Context) error {
	if err := t.Close(); err != nil {
		return err
	}
	return t.run(ctx)
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "; ")
}
