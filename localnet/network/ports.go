package network

import (
	"fmt"
	"slices"

	"github.com/gantry-market/gantry/localnet/ports"
)

// claimPorts takes a port for each name, which stays this network's until it is closed.
func (n *Network) claimPorts(names []string) error {
	n.ports = make(map[string]uint16, len(names))
	for some := range slices.Chunk(names, ports.Most) {
		block, err := ports.Claim(len(some))
		if err != nil {
			return fmt.Errorf("ports for %s and others: %w", some[0], err)
		}
		n.blocks = append(n.blocks, block)
		for i, name := range some {
			n.ports[name] = uint16(block.First() + i)
		}
	}
	return nil
}

// releasePorts gives the ports back.
func (n *Network) releasePorts() {
	for _, block := range n.blocks {
		block.Release()
	}
}

// loopback is the address, host:port, at which the named process listens on a port that was found for it.
func (n *Network) loopback(name string) string { return fmt.Sprintf("127.0.0.1:%d", n.ports[name]) }

// listen is the multiaddress at which the named keeper or machine listens.
func (n *Network) listen(name string) string {
	if at, ok := n.cfg.Listen[name]; ok {
		return at
	}
	return fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", n.ports[name])
}
