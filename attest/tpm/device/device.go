package device

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/google/go-tpm/tpm2"
	"github.com/google/go-tpm/tpm2/transport"
	"github.com/google/go-tpm/tpm2/transport/linuxtpm"
	"github.com/google/go-tpm/tpm2/transport/linuxudstpm"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tpm"
)

const (
	// ResourceManager is the kernel's shared access to the first TPM. Users of it are in the group tss on most systems.
	ResourceManager = "/dev/tpmrm0"
	// FirmwareLog is where Linux shows the firmware's event log. Usually only root can read it.
	FirmwareLog = "/sys/kernel/security/tpm0/binary_bios_measurements"
)

// Options says where the TPM is and what is quoted.
type Options struct {
	// Path of a device or of a unix socket; empty means [ResourceManager].
	Path string
	// Open replaces Path, for transports of other kinds.
	Open func() (transport.TPMCloser, error)
	// LogPath of the event log; empty means [FirmwareLog].
	LogPath string
	// Chain is issuers' certificates (DER, one after the other) that the TPM does not hold and verifiers may lack. Most
	// manufacturers publish theirs at the address that the endorsement key's certificate names.
	Chain []byte
	// Selection of PCRs to quote; 0 means [tpm.DefaultSelection].
	Selection tpm.Selection
	// Algorithms of endorsement keys, the preferred first; none means RSA 2048, then P-256, then P-384.
	Algorithms []tpm.EKAlgorithm
}

// Device is a machine's TPM. Safe for concurrent use: operations take turns.
type Device struct {
	opts Options
	mu   sync.Mutex
}

// New describes a device; nothing is opened yet.
func New(opts Options) *Device {
	if opts.Path == "" {
		opts.Path = ResourceManager
	}
	if opts.LogPath == "" {
		opts.LogPath = FirmwareLog
	}
	if opts.Selection == 0 {
		opts.Selection = tpm.DefaultSelection
	}
	if len(opts.Algorithms) == 0 {
		opts.Algorithms = []tpm.EKAlgorithm{tpm.EKRSA2048, tpm.EKP256, tpm.EKP384}
	}
	return &Device{opts: opts}
}

// conn is one opened connection, in which every command first looks at the context.
type conn struct {
	ctx context.Context
	tpm transport.TPM
}

// Send implements [transport.TPM].
func (c conn) Send(command []byte) ([]byte, error) {
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	return c.tpm.Send(command)
}

// with runs an operation on the opened TPM.
func (d *Device) with(ctx context.Context, what string, do func(conn) error) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("TPM: %s: %w", what, err)
	}
	t, err := d.open()
	if err != nil {
		return fmt.Errorf("TPM: %w", err)
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if err := do(conn{ctx, t}); err != nil {
		return fmt.Errorf("TPM: %s: %w", what, err)
	}
	return nil
}

func (d *Device) open() (transport.TPMCloser, error) {
	if d.opts.Open != nil {
		return d.opts.Open()
	}
	info, err := os.Stat(d.opts.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no TPM 2.0 at %s: %w", d.opts.Path, attest.ErrAbsent)
	}
	if err != nil {
		return nil, err
	}
	open := linuxtpm.Open
	if info.Mode()&os.ModeSocket != 0 {
		open = linuxudstpm.Open
	}
	t, err := open(d.opts.Path)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w (the user who runs this must be in the group that owns %s)", err, d.opts.Path)
	}
	return t, err
}

// flush drops a transient object; a failure to do so joins the operation's error.
func (c conn) flush(handle tpm2.TPMHandle, err *error) {
	// Without the operation's context: what was made is dropped also when it was cancelled.
	if _, e := (tpm2.FlushContext{FlushHandle: handle}).Execute(c.tpm); e != nil {
		*err = errors.Join(*err, fmt.Errorf("flush %#x: %w", uint32(handle), e))
	}
}

// isMissing reports whether the TPM says that there is no such handle.
func isMissing(err error) bool {
	return errors.Is(err, tpm2.TPMRCHandle) || errors.Is(err, tpm2.TPMRCValue)
}
