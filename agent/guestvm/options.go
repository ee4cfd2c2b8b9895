package guestvm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/agent/network"
	"github.com/gantry-market/gantry/attest/tpm/swtpm"
)

// ErrUnavailable: this machine starts no guests. The error says what it lacks.
var ErrUnavailable = errors.New("this machine starts no measured guest")

// Accelerators.
const (
	// KVM runs the guest on the machine's processor.
	KVM = "kvm"
	// TCG emulates a processor: a guest takes a minute and more to boot, and is slow. It is for trying things out.
	TCG = "tcg"
)

const (
	// qemu is the program that is a virtual machine.
	qemu = "qemu-system-x86_64"
	// DefaultFirmware is where Debian's and Ubuntu's package ovmf puts it.
	DefaultFirmware = "/usr/share/OVMF/OVMF_CODE_4M.fd"
	kvmDevice       = "/dev/kvm"
	// nobody is the user of QEMU where the agent is root.
	nobody = 65534
)

// Settings are the provider's.
type Settings struct {
	// Image is guest.efi, as `make guest` builds it.
	Image string
	// Firmware is the code of a UEFI firmware. Its variables are in another file of the same folder, with VARS in place of CODE in the name.
	Firmware string
	// Accelerator is [KVM] or [TCG].
	Accelerator string
}

// vars is the file with the firmware's variables.
func (s Settings) vars() string {
	dir, name := filepath.Split(s.Firmware)
	return filepath.Join(dir, strings.Replace(name, "CODE", "VARS", 1))
}

// lacks is an ErrUnavailable with what to do.
func lacks(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUnavailable, fmt.Errorf(format, args...))
}

// Check says what this machine lacks to start guests. Error: ErrUnavailable.
func (s Settings) Check() error {
	if _, err := exec.LookPath(qemu); err != nil {
		return lacks("%s is not installed: sudo apt-get install -y qemu-system-x86", qemu)
	}
	if err := swtpm.Available(); err != nil {
		return lacks("%w: sudo apt-get install -y swtpm swtpm-tools gnutls-bin", err)
	}
	for _, f := range []struct{ what, path, fix string }{
		{"the guest's image", s.Image, "build it with `make guest`, and name build/guest/guest.efi as image"},
		{"the UEFI firmware", s.Firmware, "sudo apt-get install -y ovmf, or name the file as firmware"},
		{"the firmware's variables", s.vars(), "they belong beside the firmware, with VARS in place of CODE in the name"},
	} {
		if err := readable(f.path); err != nil {
			return lacks("%s cannot be read: %w: %s", f.what, err, f.fix)
		}
	}
	if s.vars() == filepath.Clean(s.Firmware) {
		return lacks("the name of the firmware %s has no CODE in it, so that its variables cannot be found: name a file such as %s", s.Firmware, DefaultFirmware)
	}
	switch s.Accelerator {
	case TCG:
		return nil
	case KVM:
		return checkKVM(kvmDevice)
	}
	return lacks("the accelerator %q is not known: write kvm, or tcg for an emulated processor", s.Accelerator)
}

func readable(path string) error {
	if path == "" {
		return errors.New("no file is named")
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	return err
}

const kvmFix = "switch virtualization on in the firmware, and load kvm_amd or kvm_intel. Without it only `accelerator: tcg` works, which emulates a processor and is slow"

// checkKVM says why a guest cannot use the device. QEMU of an agent that is root is another user, and uses the device as one of its group.
func checkKVM(device string) error {
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return lacks("there is no KVM here: %w: %s", err, kvmFix)
	}
	_ = f.Close()
	info, err := os.Stat(device)
	if err != nil {
		return lacks("there is no KVM here: %w: %s", err, kvmFix)
	}
	if os.Geteuid() == 0 && info.Mode().Perm()&0o060 != 0o060 && info.Mode().Perm()&0o006 != 0o006 {
		return lacks("%s has mode %04o, and guests use it as its group: sudo chgrp kvm %s && sudo chmod 660 %s", device, info.Mode().Perm(), device, device)
	}
	return nil
}

// credential is the user as which QEMU runs; nil for the agent's.
func (s Settings) credential() *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	c := &syscall.Credential{Uid: nobody, Gid: nobody, Groups: []uint32{}}
	var stat unix.Stat_t
	if s.Accelerator == KVM && unix.Stat(kvmDevice, &stat) == nil {
		c.Groups = append(c.Groups, stat.Gid)
	}
	return c
}

// Options of New.
type Options struct {
	Settings
	// Folder has what the guests of leases have given, and the maker of their TPMs.
	Folder string
	// Network plans how a guest is connected with the internet and nothing else; nil connects it as the agent is, loopback among that,
	// which is for local networks.
	Network func() (network.Plan, error)
	Log     zerolog.Logger

	record *recorder // of the supervisor; nil for none
}

// Share is a guest's part of the machine.
type Share struct {
	CPUs      float64
	MemoryMiB uint64
}

const (
	// overheadMiB of a share are QEMU's own.
	overheadMiB = 256
	// leastMiB is what the guest needs to start a container at all.
	leastMiB = 768
)

// check says whether a guest fits. Error: ErrUnavailable.
func (s Share) check() error {
	if s.MemoryMiB < leastMiB+overheadMiB {
		return lacks("a guest takes %d MiB of memory at least, and the lease's share of this machine has %d", leastMiB+overheadMiB, s.MemoryMiB)
	}
	return nil
}
