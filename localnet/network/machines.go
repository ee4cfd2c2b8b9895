package network

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/localnet/machine"
	"github.com/gantry-market/gantry/localnet/process"
)

// namespaces reports whether any machine runs in namespaces of its own.
func (c Config) namespaces() bool {
	return slices.ContainsFunc(c.Nodes, func(n NodeSpec) bool { return n.Namespaces })
}

// TryNamespaces says why no machine can run in namespaces of its own here, or nothing. Error: machine.ErrUnavailable.
func TryNamespaces(ctx context.Context) error {
	localnet, err := Binary("gantry-localnet")
	if err != nil {
		return fmt.Errorf("%w: %w", machine.ErrUnavailable, err)
	}
	return machine.Try(ctx, localnet, "machine")
}

func (n *Network) machineDir() string { return filepath.Join(n.cfg.Dir, "machines") }

func (n *Network) asked(m *Machine) string { return filepath.Join(n.machineDir(), m.Name+".sock") }

// inNamespaces makes a process that runs an agent one that runs it in namespaces of the machine's own, from which it reaches
// what it needs of the network.
func (n *Network) inNamespaces(m *Machine, agent process.Spec) (process.Spec, error) {
	serve := n.loopback(m.Name)
	s := machine.Spec{Serve: serve, LinkMbits: m.LinkMbits, Asked: n.asked(m), Service: m.Service, Reach: slices.Clone(n.cfg.Reach), Agent: append([]string{agent.Path}, agent.Args...)}
	listen := n.listen(m.Name)
	if m.LinkMbits > 0 {
		s.Serve, listen = "", machine.LinkAddr(n.ports[m.Name])
	}
	s.Agent = append(s.Agent, "--listen", listen)
	at := n.endpointOf(m.Name)
	for _, raw := range []string{at.RPC, at.WS} {
		u, err := url.Parse(raw)
		if err != nil {
			return agent, err
		}
		s.Reach = append(s.Reach, u.Host)
	}
	for name := range n.ports {
		if other := n.loopback(name); other != serve {
			s.Reach = append(s.Reach, other)
		}
	}
	if err := os.MkdirAll(n.machineDir(), 0o700); err != nil {
		return agent, fmt.Errorf("folder of machines: %w", err)
	}
	path := filepath.Join(n.machineDir(), m.Name+".json")
	if err := s.Write(path); err != nil {
		return agent, err
	}
	agent.Path, agent.Args, agent.Namespaces = n.bins.localnet, []string{"machine", path}, machine.Namespaces
	return agent, nil
}

// Ask lets a machine in namespaces of its own connect to an address, host:port, and returns what answers there.
func (n *Network) Ask(ctx context.Context, m *Machine, addr string) (string, error) {
	return machine.Ask(ctx, n.asked(m), addr)
}

// removeGroups removes the control groups of jobs that were killed together with their supervisors, as when a machine in
// namespaces of its own is switched off. Everything else of such a job ends with it, or is in the network's folder.
func (n *Network) removeGroups() {
	jobs, _ := filepath.Glob(filepath.Join(n.cfg.Dir, "agents", "*", "jobs", "*"))
	for _, job := range jobs {
		runtime.RemoveGroups(filepath.Base(job))
	}
}
