package runtime

import (
	"errors"
	"fmt"
	"os"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/agent/network"
	"github.com/gantry-market/gantry/sdk/messages"
)

// NetworkInternet is the network of a container that reaches the internet, and nothing else.
const NetworkInternet = messages.NetworkInternet

// ErrNetwork: this node gives containers no network.
var ErrNetwork = network.ErrUnavailable

// hosts are the names that a container knows without asking.
const hosts = "127.0.0.1\tlocalhost gantry\n::1\tlocalhost gantry\n"

// checkNetwork says why the node cannot give a job the network that it asks for.
func (p *Process) checkNetwork(spec Spec) error {
	if spec.Group != nil {
		if err := network.CheckGroup(); err != nil {
			return fmt.Errorf("the private network of an order over several machines: %w", err)
		}
	}
	if spec.Network == "" {
		return nil
	}
	_, err := p.planNetwork()
	return err
}

// planNetwork is how a lease would be connected now.
func (p *Process) planNetwork() (network.Plan, error) {
	plan, err := p.network.Plan()
	if errors.Is(err, ErrNetwork) {
		err = fmt.Errorf("%w; order with --network none, or from another node", err)
	}
	return plan, err
}

// NetworkTrouble says why containers get no network here, and what of the machine may stop those that do; nothing if all
// is well.
func (p *Process) NetworkTrouble() []string {
	if p.sandbox.check() != nil || p.network.Off() {
		return nil // there are no containers either, or it is as their provider wants it
	}
	if _, err := p.network.Plan(); err != nil {
		return []string{err.Error()}
	}
	warnings, err := network.Warnings()
	if err != nil {
		return []string{err.Error()}
	}
	return warnings
}

// sweepNetwork removes what the networks of leases that no longer run have left.
func (p *Process) sweepNetwork() error {
	entries, err := os.ReadDir(p.root)
	if err != nil {
		return fmt.Errorf("runtime: %w", err)
	}
	var live []string
	for _, e := range entries {
		if Locked(leaseDir(p.root + "/" + e.Name()).lock()) {
			live = append(live, e.Name())
		}
	}
	return p.network.Sweep(live)
}

// writeNetwork tells the supervisor how to connect the job.
func (p *Process) writeNetwork(d leaseDir, spec Spec) error {
	if spec.Network == "" {
		return nil
	}
	plan, err := p.planNetwork()
	if err != nil {
		return err
	}
	return d.write(d.network(), plan)
}

// detachNetwork removes the network of a lease whose supervisor was killed.
func (p *Process) detachNetwork(d leaseDir, lease string) error {
	if !d.exists(d.network()) {
		return nil
	}
	return p.network.Detach(lease)
}

// enterNetwork makes a container use the network namespace that its process is in, which the supervisor connects before the
// sandbox takes it over. It returns the kind of network that runsc is to make.
func enterNetwork(dir leaseDir, spec Spec, config *specs.Spec) (string, error) {
	if !spec.connected() {
		return "none", nil
	}
	var plan network.Plan
	if spec.Network != "" {
		if ok, err := readJSON(dir.network(), &plan); err != nil || !ok {
			return "", errors.Join(err, errors.New("the lease's network was not planned"))
		}
	}
	for i, ns := range config.Linux.Namespaces {
		if ns.Type == specs.NetworkNamespace {
			config.Linux.Namespaces[i].Path = "/proc/self/ns/net"
		}
	}
	names := hosts
	if spec.Group != nil {
		names += spec.Group.hosts()
	}
	for _, f := range []struct{ path, inside, text string }{
		{dir.file("resolv.conf"), "/etc/resolv.conf", plan.Resolv()},
		{dir.file("hosts"), "/etc/hosts", names},
	} {
		if err := os.WriteFile(f.path, []byte(f.text), 0o644); err != nil {
			return "", err
		}
		config.Mounts = append(config.Mounts, specs.Mount{Destination: f.inside, Type: "bind", Source: f.path, Options: []string{"bind", "ro", "nosuid", "nodev", "noexec"}})
	}
	return "sandbox", nil
}

// connected reports whether a container has a network namespace of its own, with more than loopback in it.
func (s Spec) connected() bool { return s.Network != "" || s.Group != nil }

// networkFlags are those of a process whose network is the lease's.
func (s *supervisor) networkFlags() uintptr {
	if !s.spec.connected() {
		return 0
	}
	return unix.CLONE_NEWNET
}

// attachNetwork connects the job, which waits to be released, and says what it got.
func (s *supervisor) attachNetwork() error {
	if err := s.attachGroup(); err != nil || s.spec.Network == "" {
		return err
	}
	if ok, err := readJSON(s.dir.network(), &s.network); err != nil || !ok {
		return errors.Join(err, errors.New("the lease's network was not planned"))
	}
	addrs, err := s.network.Attach(s.spec.LeaseID, s.record.Job.PID)
	if err != nil {
		return err
	}
	s.attached = true
	say := fmt.Sprintf("network: the internet from %v, ports %v closed", addrs, s.network.ClosedPorts)
	if s.network.Mbit > 0 {
		say += fmt.Sprintf(", %d Mbit/s each way", s.network.Mbit)
	}
	s.record.Limits = append(s.record.Limits, say)
	return nil
}

// keepNetwork puts the rules back that another program has removed.
func (s *supervisor) keepNetwork() {
	if !s.attached {
		return
	}
	changed, err := s.network.Keep()
	if err != nil || changed {
		fmt.Fprintln(os.Stderr, time.Now().UTC().Format(time.RFC3339), "the rules of the leases' network were applied again:", err)
	}
}

// detachNetwork removes the job's network once nothing of it runs.
func (s *supervisor) detachNetwork() {
	if !s.attached {
		return
	}
	if err := s.network.Detach(s.spec.LeaseID); err != nil {
		fmt.Fprintln(os.Stderr, err) // the agent tries again when it removes the lease
	}
}
