package network

import (
	"context"
)

// RunCopy runs another agent with a machine's key, as a copy of its disk would be, with a data folder of its own. It waits
// until the copy ends.
func (n *Network) RunCopy(ctx context.Context, m *Machine, dir string) (Output, error) {
	args := append([]string{"run"}, n.direct()...)
	args = append(args, "--node-key", m.Key.Path, "--data-dir", dir, "--inventory", m.inventory(), "--region", m.Region, "--price", m.Price.String(),
		"--listen", "/ip4/127.0.0.1/tcp/0", "--no-lease-network")
	return runBinary(ctx, n.mark, n.bins.agent, n.home(m.Name), args...)
}
