package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/internal/wait"
)

const (
	// probeLease is the directory of the container that shows what this machine can do. No lease has such an address.
	probeLease = "probe"
	// probeTimeout bounds that container, which does almost nothing.
	probeTimeout = 2 * time.Minute
	// probeMiB is what it may have of memory and of disk.
	probeMiB = 256
)

// isolates returns nil if jobs of strangers may run here: in containers, whose memory and disk the kernel limits, and
// whose network is their own. It starts such a container, of runsc itself, which prints its version.
func (p *Process) isolates(ctx context.Context) error {
	if p.sandbox.Runsc == "" {
		return errors.New("there is no runsc: install gVisor (https://gvisor.dev/docs/user_guide/install), or name it with --runsc")
	}
	if os.Geteuid() != 0 {
		return errors.New("the agent does not run as root, without which runsc starts no containers: run it as root")
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	d := leaseDir(filepath.Join(p.root, probeLease))
	if err := p.removeProbe(ctx); err != nil { // of an agent that was killed
		return err
	}
	spec, err := p.writeProbe(d)
	if err != nil {
		return err
	}
	err = p.runProbe(ctx, d, spec)
	end, stop := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer stop()
	return errors.Join(err, p.removeProbe(end))
}

// writeProbe makes an image whose only file is runsc.
func (p *Process) writeProbe(d leaseDir) (Spec, error) {
	spec := Spec{
		LeaseID: probeLease, Image: "probe.invalid/probe@sha256:" + fmt.Sprintf("%064d", 0),
		Limits: Limits{MemoryMiB: probeMiB, DiskMiB: probeMiB, CPUs: 1, Wall: probeTimeout},
	}
	if !p.network.Off() {
		spec.Network = NetworkInternet
	}
	layer := filepath.Join(string(d), "layers", "runsc")
	if err := os.MkdirAll(layer, 0o755); err != nil {
		return spec, fmt.Errorf("runtime: %w", err)
	}
	if err := copyProgram(p.sandbox.Runsc, filepath.Join(layer, "runsc")); err != nil {
		return spec, fmt.Errorf("runtime: %w", err)
	}
	return spec, d.write(d.container(), container{
		Runsc: p.sandbox.Runsc, Layers: filepath.Dir(layer),
		Image: image.Image{Layers: []string{filepath.Base(layer)}, Config: v1.Config{Entrypoint: []string{"/runsc", "--version"}}},
	})
}

// copyProgram copies a program to where it may be run.
func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// runProbe runs the container and looks at what limited it.
func (p *Process) runProbe(ctx context.Context, d leaseDir, spec Spec) error {
	if err := p.checkNetwork(spec); err != nil {
		return err
	}
	if _, err := p.Start(ctx, spec); err != nil {
		return err
	}
	st, err := p.Wait(ctx, probeLease)
	if err != nil {
		return err
	}
	if st.Exit == nil || st.Exit.Reason != ReasonExited || st.Exit.Code != 0 {
		text, _ := os.ReadFile(d.log(Output))
		return fmt.Errorf("a container that was started to try it out failed: %+v %s %s", st.Exit, text, d.lastLog())
	}
	var run runRecord
	if _, err := readJSON(d.run(), &run); err != nil {
		return err
	}
	switch {
	case run.Cgroup == "" && limitsOf(spec.Limits, false) == nil:
		return fmt.Errorf("the memory of containers cannot be limited: the machine needs cgroups, version 2 with the controllers cpu, memory and pids, or version 1 (%v)", run.Limits)
	case run.Disk == "":
		return fmt.Errorf("the disk of containers cannot be limited by a file system of their own: install e2fsprogs, and load the kernel modules ext4 and loop (%v)", run.Limits)
	}
	return nil
}

// removeProbe ends the container and removes it. Its supervisor may just be starting, and write to its directory meanwhile.
func (p *Process) removeProbe(ctx context.Context) error {
	for {
		_, err := p.Stop(ctx, probeLease, 0)
		if err == nil || errors.Is(err, ErrNotFound) {
			err = p.Remove(ctx, probeLease)
		}
		if err == nil || wait.For(ctx, statePoll) != nil {
			return err
		}
	}
}
