package gpus

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"

	cdi "tags.cncf.io/container-device-interface/specs-go"
)

// Source says what containers need to know of the driver, as it is when they are made: a driver may be upgraded, and devices may be
// numbered anew, while the agent runs. Safe for use by several goroutines.
type Source struct {
	// Folder is the agent's own, and Runsc the sandbox.
	Folder, Runsc string
	// Ask asks the driver for its version, and for the numbers of the devices' nodes by UUID.
	Ask func(context.Context) (version string, minors map[string]int, err error)
	// Facts are what images may require of the driver and the GPUs as they are; nil: nothing is known.
	Facts func(context.Context) Facts

	mu   sync.Mutex
	have Driver
}

// facts of the machine as it is.
func (s *Source) facts(ctx context.Context) Facts {
	if s.Facts == nil {
		return Facts{}
	}
	return s.Facts(ctx)
}

// Fresh makes the specification, whatever there is. Errors: ErrDriver, ErrToolkit, or of Ask.
func (s *Source) Fresh(ctx context.Context) (Driver, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	version, minors, err := s.Ask(ctx)
	if err != nil {
		return Driver{}, err
	}
	return s.fresh(ctx, version, minors)
}

func (s *Source) fresh(ctx context.Context, version string, minors map[string]int) (Driver, error) {
	d, err := Prepare(ctx, s.Folder, s.Runsc, version)
	if err != nil {
		return Driver{}, err
	}
	d.Minors, d.Facts = minors, s.facts(ctx)
	s.have = d
	return d, nil
}

// Now is what a container gets. The specification is made anew where it is not that of the driver as it is. Errors: ErrDriver,
// ErrToolkit, ErrSpec, or of Ask.
func (s *Source) Now(ctx context.Context) (Driver, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	version, minors, err := s.Ask(ctx)
	if err != nil {
		return Driver{}, err
	}
	if s.have.Version == version {
		s.have.Minors, s.have.Facts = minors, s.facts(ctx)
		if s.have.check() == nil {
			return s.have, nil
		}
	}
	d, err := s.fresh(ctx, version, minors)
	if err != nil {
		return Driver{}, err
	}
	return d, d.check()
}

// memoryNode is the device by which CUDA manages memory. It appears when the driver's module for it is loaded.
const memoryNode = "/dev/nvidia-uvm"

// check compares the specification with the driver and with the machine's devices. Error: ErrSpec.
func (d Driver) check() error {
	spec, err := load(d.Spec)
	if err != nil {
		return err
	}
	for _, device := range spec.Devices {
		if err := d.same(device); err != nil {
			return err
		}
	}
	is := func(n *cdi.DeviceNode) bool { return n != nil && n.Path == memoryNode }
	if _, err := os.Stat(memoryNode); err == nil && !slices.ContainsFunc(spec.ContainerEdits.DeviceNodes, is) {
		return fmt.Errorf("%w: it lacks %s, without which CUDA does not start", ErrSpec, memoryNode)
	}
	return nil
}
