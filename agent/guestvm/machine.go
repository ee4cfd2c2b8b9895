package guestvm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/agent/network"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/attest/tpm/swtpm"
	"github.com/gantry-market/gantry/internal/child"
)

// bootLimits are how long a guest may take until it answers. An emulated processor on a busy computer is slow.
var bootLimits = map[string]time.Duration{KVM: 3 * time.Minute, TCG: 30 * time.Minute}

// offLimit is how long a guest may take to switch itself off.
const offLimit = 5 * time.Second

// The network that QEMU makes for the guest's card.
var inside = control.Network{Address: "10.0.2.15/24", Gateway: "10.0.2.2", DNS: "10.0.2.3"}

// machine is a virtual machine that runs, with its TPM. close ends both.
type machine struct {
	*control.Client
	network control.Network
	folder  string
	chip    *swtpm.TPM
	process *os.Process
	ended   func() error  // waits for QEMU
	over    chan struct{} // closed when QEMU has ended
	detach  func() error
}

// boot starts a machine and waits until its guest answers. ctx bounds the boot alone.
func boot(ctx context.Context, o Options, lease string, share Share) (m *machine, err error) {
	if err := errors.Join(o.Check(), share.check()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, bootLimits[o.Accelerator])
	defer cancel()
	// Not the agent's folder: QEMU runs as another user, and the path of a socket is short.
	folder, err := os.MkdirTemp("", "gantry-guest-")
	if err != nil {
		return nil, fmt.Errorf("folder of a guest: %w", err)
	}
	if err := o.record.note(func(r *runRecord) error { r.Folder = folder; return nil }); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	m = &machine{folder: folder, network: inside, over: make(chan struct{}), detach: func() error { return nil }}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
			m = nil
		}
	}()
	port, theirs, err := pair()
	if err != nil {
		return m, err
	}
	defer theirs.Close()
	if err = m.start(ctx, o, lease, share, theirs); err != nil {
		return m, errors.Join(err, port.Close())
	}
	_ = theirs.Close() // the port closes when QEMU ends
	if m.Client, err = control.NewClient(ctx, port); err != nil {
		return m, fmt.Errorf("the guest does not answer: %w: %s", err, m.lastWords())
	}
	return m, nil
}

// pair is the two ends of the guest's serial port.
func pair() (ours net.Conn, theirs *os.File, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("port of a guest: %w", err)
	}
	own := os.NewFile(uintptr(ends[0]), "guest port")
	defer own.Close()
	theirs = os.NewFile(uintptr(ends[1]), "guest port of QEMU")
	if ours, err = net.FileConn(own); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("port of a guest: %w", err), theirs.Close())
	}
	return ours, theirs, nil
}

// start starts the TPM and QEMU.
func (m *machine) start(ctx context.Context, o Options, lease string, share Share, port *os.File) error {
	credential := o.credential()
	if err := m.furnish(o, credential); err != nil {
		return err
	}
	maker := filepath.Join(o.Folder, makerFolder)
	if err := os.MkdirAll(maker, 0o700); err != nil {
		return fmt.Errorf("maker of TPMs: %w", err)
	}
	ca, err := swtpm.NewCA(maker)
	if err != nil {
		return err
	}
	if m.chip, err = swtpm.StartForMachine(ctx, ca, m.folder); err != nil {
		return err
	}
	if err := o.record.note(func(r *runRecord) (err error) { r.TPM, err = runtime.Identify(m.chip.PID()); return err }); err != nil {
		return err
	}
	if credential != nil {
		if err := os.Chown(m.chip.Control(), int(credential.Uid), int(credential.Gid)); err != nil {
			return fmt.Errorf("socket of a TPM: %w", err)
		}
	}
	log, err := os.OpenFile(m.path("qemu.log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("log of a guest: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(qemu, m.arguments(o, share)...) // not bound to ctx: that bounds the boot
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = m.folder, log, log, []*os.File{port}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential, Setpgid: true}
	return m.run(cmd, o, lease)
}

// run starts QEMU, and connects it.
func (m *machine) run(cmd *exec.Cmd, o Options, lease string) error {
	var plan network.Plan
	if o.Network != nil {
		var err error
		if plan, err = o.Network(); err != nil {
			return err
		}
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWNET
	}
	ended, err := child.Start(cmd)
	if err != nil {
		return fmt.Errorf("start %s: %w", qemu, err)
	}
	m.process, m.ended = cmd.Process, ended
	go func() {
		_ = ended()
		close(m.over)
	}()
	if err := o.record.note(func(r *runRecord) (err error) { r.QEMU, err = runtime.Identify(m.process.Pid); return err }); err != nil {
		return err
	}
	if o.Network == nil {
		return nil
	}
	if _, err := plan.Attach(lease, cmd.Process.Pid); err != nil {
		return err
	}
	m.detach = func() error { return plan.Detach(lease) }
	if len(plan.DNS) > 0 {
		m.network.DNS = plan.DNS[0].String()
	}
	return nil
}

func (m *machine) path(name string) string { return filepath.Join(m.folder, name) }

// furnish gives QEMU's user what it reads, and nothing of the agent's folders.
func (m *machine) furnish(o Options, c *syscall.Credential) error {
	for name, from := range map[string]string{"guest.efi": o.Image, "code.fd": o.Firmware, "vars.fd": o.vars()} {
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(m.path(name), data, 0o600)
		}
		if err == nil && c != nil {
			err = os.Chown(m.path(name), int(c.Uid), int(c.Gid))
		}
		if err != nil {
			return fmt.Errorf("files of a guest: %w", err)
		}
	}
	if c == nil {
		return nil
	}
	if err := os.Chmod(m.folder, 0o711); err != nil {
		return fmt.Errorf("files of a guest: %w", err)
	}
	return nil
}

// arguments are QEMU's. Nothing of them comes from a customer.
func (m *machine) arguments(o Options, share Share) []string {
	processor := "host"
	if o.Accelerator == TCG {
		processor = "max"
	}
	cores := max(1, int(math.Ceil(share.CPUs)))
	return []string{
		"-M", "q35", "-accel", o.Accelerator, "-cpu", processor, "-m", strconv.FormatUint(share.MemoryMiB-overheadMiB, 10), "-smp", strconv.Itoa(cores),
		"-nodefaults", "-no-user-config", "-display", "none", "-monitor", "none", "-serial", "none", "-no-reboot",
		"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
		"-kernel", "guest.efi",
		"-drive", "if=pflash,format=raw,unit=0,readonly=on,file=code.fd",
		"-drive", "if=pflash,format=raw,unit=1,file=vars.fd",
		"-chardev", "socket,id=tpm,path=" + m.chip.Control(), "-tpmdev", "emulator,id=t,chardev=tpm", "-device", "tpm-tis,tpmdev=t",
		"-device", "virtio-serial-pci", "-chardev", "socket,id=c,fd=3", "-device", "virtserialport,chardev=c,name=" + control.Port,
		"-netdev", "user,id=n", "-device", "virtio-net-pci,netdev=n",
	}
}

// lastWords is the end of what QEMU has written, for the provider.
func (m *machine) lastWords() string {
	text, err := os.ReadFile(m.path("qemu.log"))
	switch {
	case err != nil:
		return err.Error()
	case len(text) == 0:
		return "QEMU wrote nothing"
	}
	return string(text[max(0, len(text)-500):])
}

// off has the guest switch itself off, and waits a little.
func (m *machine) off(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, offLimit)
	defer cancel()
	if m.Client == nil || m.Off(ctx) != nil {
		return
	}
	select {
	case <-m.over:
	case <-ctx.Done():
	}
}

// close ends QEMU and the TPM at once, and removes their files.
func (m *machine) close() error {
	var errs []error
	if m.Client != nil {
		_ = m.Client.Close()
	}
	if m.process != nil {
		_ = m.process.Kill() // one that has ended is no matter
		<-m.over
	}
	if m.chip != nil {
		errs = append(errs, m.chip.Close())
	}
	return errors.Join(append(errs, m.detach(), os.RemoveAll(m.folder))...)
}
