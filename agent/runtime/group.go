package runtime

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/agent/network"
	"github.com/gantry-market/gantry/sdk/mesh"
	"github.com/gantry-market/gantry/sdk/messages"
)

// rendezvousPort is the port at which PyTorch's programs meet on the first member, unless the customer names another.
const rendezvousPort = 29500

// ErrNoGroup: the job has no private network, or no process in it now.
var ErrNoGroup = errors.New("runtime: the job has no private network")

// Group is a container's place among the containers of its order, which have a private network.
type Group struct {
	Index int `json:"index"`
	Size  int `json:"size"`
	// Mbit is what the container may send there; the runtime sets it.
	Mbit uint32 `json:"mbit,omitempty"`
}

// network is the interface that the container gets.
func (g Group) network() network.Group {
	return network.Group{Interface: mesh.Interface, Addr: mesh.Address(g.Index), Range: mesh.Range, MTU: mesh.MTU, Mbit: g.Mbit}
}

// variables tell programs who the other members are, and by which interface they are reached: NCCL and gloo would take the
// first one, which reaches the internet alone.
func (g Group) variables() map[string]string {
	names := make([]string, g.Size)
	for i := range names {
		names[i] = mesh.Name(i)
	}
	return map[string]string{
		"GANTRY_NODE_RANK":   strconv.Itoa(g.Index),
		"GANTRY_NUM_NODES":   strconv.Itoa(g.Size),
		"GANTRY_NODES":       strings.Join(names, ","),
		"GANTRY_NODE_IP":     mesh.Address(g.Index).String(),
		"NCCL_SOCKET_IFNAME": mesh.Interface,
		"GLOO_SOCKET_IFNAME": mesh.Interface,
		"MASTER_ADDR":        mesh.Address(0).String(),
		"MASTER_PORT":        strconv.Itoa(rendezvousPort),
	}
}

// hosts are lines of /etc/hosts, for all places that there can be: machines may be added while the container runs. A container knows
// itself by its address in the network too, because programs announce it.
func (g Group) hosts() string {
	var b strings.Builder
	for i := range messages.MaxGroup {
		fmt.Fprintf(&b, "%s\t%s\n", mesh.Address(i), mesh.Name(i))
	}
	return b.String()
}

// attachGroup connects the job, which waits to be released, to its private network.
func (s *supervisor) attachGroup() error {
	if s.spec.Group == nil {
		return nil
	}
	g := s.spec.Group.network()
	if err := network.AddGroup(s.record.Job.PID, g); err != nil {
		return err
	}
	s.record.Limits = append(s.record.Limits, fmt.Sprintf("network: %s of %d machines at %s", g.Interface, s.spec.Group.Size, g.Addr))
	return nil
}

// OpenGroup opens the interface of the private network of a job that runs, and returns its descriptor, which the caller closes.
// Error: ErrNoGroup.
func (p *Process) OpenGroup(leaseID string) (int, error) {
	d, err := p.dir(leaseID)
	if err != nil {
		return 0, err
	}
	var spec Spec
	var run runRecord
	for path, into := range map[string]any{d.spec(): &spec, d.run(): &run} {
		if ok, err := readJSON(path, into); err != nil || !ok {
			return 0, errors.Join(ErrNoGroup, err)
		}
	}
	if spec.Group == nil || !run.Job.Alive() {
		return 0, ErrNoGroup
	}
	return network.OpenGroup(run.Job.PID, mesh.Interface)
}
