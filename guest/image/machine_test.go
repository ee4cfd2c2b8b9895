package image_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/attest/tpm/swtpm"
	"github.com/gantry-market/gantry/guest/image"
	"github.com/gantry-market/gantry/internal/child"
	"github.com/gantry-market/gantry/internal/wait"
)

const qemu = "qemu-system-x86_64"

// bootFor is how long a boot may take. An emulated processor on a busy computer is slow.
const bootFor = 30 * time.Minute

// lab is what the boots of a test share: the firmware, and a maker of TPMs.
type lab struct {
	t          *testing.T
	dir        string
	code, vars []byte
	maker      *swtpm.CA
}

func newLab(t *testing.T) *lab {
	if _, err := exec.LookPath(qemu); err != nil {
		t.Skipf("needs %s: scripts/toolchain.sh guest", qemu)
	}
	if err := swtpm.Available(); err != nil {
		t.Skip(err)
	}
	code, vars, err := image.Firmware(packages(t))
	skipWithoutInputs(t, err)
	dir, err := os.MkdirTemp("", "gantry-guest") // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	maker, err := swtpm.NewCA(dir)
	require.NoError(t, err)
	return &lab{t: t, dir: dir, code: code, vars: vars, maker: maker}
}

// running is a virtual machine that has booted an image.
type running struct {
	*control.Client
	ended   func() error
	console string
	wire    *wire
}

// wire is the host's end of the control port. It keeps all that goes through it.
type wire struct {
	net.Conn
	mu   sync.Mutex
	seen bytes.Buffer
}

func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	w.keep(b[:n])
	return n, err
}

func (w *wire) Write(b []byte) (int, error) {
	w.keep(b)
	return w.Conn.Write(b)
}

func (w *wire) keep(b []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.Write(b)
}

// has reports whether a text went over the wire.
func (w *wire) has(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Contains(w.seen.Bytes(), []byte(text))
}

// boot starts a machine with a new TPM and waits until the guest answers.
func (l *lab) boot(data []byte, extra ...string) *running {
	t := l.t
	ctx, cancel := context.WithTimeout(t.Context(), bootFor)
	defer cancel()
	dir, err := os.MkdirTemp(l.dir, "m")
	require.NoError(t, err)
	chip, err := swtpm.StartForMachine(ctx, l.maker, dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, chip.Close()) })
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o600))
		return path
	}
	port, console := filepath.Join(dir, "port"), filepath.Join(dir, "console")
	cmd := exec.Command(qemu, append([]string{
		"-M", "q35", "-accel", "tcg", "-cpu", "max", "-m", "1024", "-smp", "1", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-kernel", file("guest.efi", data),
		"-drive", "if=pflash,format=raw,unit=0,readonly=on,file=" + file("code.fd", l.code),
		"-drive", "if=pflash,format=raw,unit=1,file=" + file("vars.fd", l.vars),
		"-chardev", "socket,id=tpm,path=" + chip.Control(), "-tpmdev", "emulator,id=t,chardev=tpm", "-device", "tpm-tis,tpmdev=t",
		"-device", "virtio-serial-pci", "-chardev", "socket,id=c,path=" + port + ",server=on,wait=off",
		"-device", "virtserialport,chardev=c,name=" + control.Port, "-serial", "file:" + console,
	}, extra...)...)
	log, err := os.Create(filepath.Join(dir, "qemu.log"))
	require.NoError(t, err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	ended, err := child.Start(cmd)
	require.NoError(t, err)
	r := &running{ended: ended, console: console}
	t.Cleanup(func() {
		if t.Failed() {
			r.show(t, log.Name())
		}
		_ = cmd.Process.Kill() // one that has ended is no matter
		_ = ended()
	})
	began := time.Now()
	r.wire = &wire{Conn: dial(ctx, t, port)}
	r.Client, err = control.NewClient(ctx, r.wire)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Client.Close() })
	_, err = r.Keys(ctx)
	require.NoError(t, err)
	t.Logf("the guest has answered after %s", time.Since(began).Round(time.Second))
	return r
}

// show prints what the machine has said.
func (r *running) show(t *testing.T, log string) {
	for _, name := range []string{r.console, log} {
		text, err := os.ReadFile(name)
		t.Logf("%s: %v\n%s", filepath.Base(name), err, text)
	}
}

// end waits for the machine to have switched itself off.
func (r *running) end(t *testing.T) {
	done := make(chan error, 1)
	go func() { done <- r.ended() }()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(bootFor):
		require.Fail(t, "the guest does not switch itself off")
	}
}

func dial(ctx context.Context, t *testing.T, path string) net.Conn {
	for {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", path)
		if err == nil {
			return conn
		}
		require.NoError(t, wait.For(ctx, 20*time.Millisecond), "QEMU does not open %s: %v", path, err)
	}
}
