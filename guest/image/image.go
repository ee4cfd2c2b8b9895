package image

import (
	"errors"
	"fmt"
)

// CommandLine of the kernel. A guest whose kernel has failed ends. The kernel's test of its timer fails where the processor is emulated
// on a busy host, and is meant for boards whose wires are wrong.
const CommandLine = "console=ttyS0 quiet panic=-1 oops=panic no_timer_check"

// osRelease names the image. Systemd's tools show it, and the stub measures it.
const osRelease = "ID=gantry-guest\nNAME=\"Gantry guest\"\nPRETTY_NAME=\"Gantry guest\"\n"

// Options of Build.
type Options struct {
	Inputs *Inputs
	// Program is the guest's first process, a static executable: guest/cmd/gantry-guest.
	Program []byte
	// CommandLine; empty means CommandLine.
	CommandLine string
}

// Build returns the image and what a machine shows that has booted it.
func Build(o Options) ([]byte, Expected, error) {
	if o.Inputs == nil || len(o.Program) == 0 {
		return nil, Expected{}, errors.New("build the image: the inputs and the program are required")
	}
	if o.CommandLine == "" {
		o.CommandLine = CommandLine
	}
	memory, err := initramfs(o.Program, o.Inputs.Modules)
	if err != nil {
		return nil, Expected{}, fmt.Errorf("build the initial memory disk: %w", err)
	}
	stub, err := parsePE(o.Inputs.Stub)
	if err != nil {
		return nil, Expected{}, fmt.Errorf("build the image: the stub: %w", err)
	}
	data, err := stub.add([]namedData{
		{".osrel", []byte(osRelease)},
		{".cmdline", []byte(o.CommandLine)},
		{".uname", []byte(o.Inputs.Release)},
		{".initrd", memory},
		{".linux", o.Inputs.Kernel},
	})
	if err != nil {
		return nil, Expected{}, fmt.Errorf("build the image: the stub: %w", err)
	}
	e, err := expected(data, o.Inputs, o.CommandLine)
	return data, e, err
}
