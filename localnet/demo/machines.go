package demo

import (
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
)

// The participants. Regions steer the orders, so that every lease lands where the demo needs it; two honest A100s
// compete for the first one.
const (
	keeperCount   = 3
	customerCount = 2

	honestA100 = "node-1"
	honestH100 = "node-2"
	rivalA100  = "node-3"
	falseH100  = "node-4"
	silentA100 = "node-5"
	sandboxes  = "node-6"
	// otherSandbox is cheaper, so the container that moves begins there, and moves to the one before.
	otherSandbox = "node-7"

	// slowFactor makes the false H100 take eight times as long for the least of a measurement: a third of what its class asks for,
	// and in time before the period is over.
	slowFactor = 8

	// undercut is what the owner of the first machine for containers asks, once the other one has a lease that may move: it moves
	// for its own price at most.
	undercut market.PricePerHour = 1_200_000
)

// machines of the demo. Those for containers take part where this computer can run them.
func machines(containers bool) []network.NodeSpec {
	all := []network.NodeSpec{
		{Name: honestA100, Provider: 0, GPU: "A100", Count: 1, Region: "us-west-2", Price: 1_260_000},
		{Name: honestH100, Provider: 0, GPU: "H100", Count: 1, Region: "us-west-2", Price: 2_400_000},
		{Name: rivalA100, Provider: 1, GPU: "A100", Count: 1, Region: "us-east-1", Price: 1_310_000},
		{Name: falseH100, Provider: 2, GPU: "H100", Count: 1, Region: "ap-south-1", Price: 1_900_000, Slow: slowFactor},
		{Name: silentA100, Provider: 3, GPU: "A100", Count: 1, Region: "eu-north-1", Price: 1_200_000},
	}
	if containers {
		all = append(all,
			network.NodeSpec{Name: sandboxes, Provider: 4, GPU: "A100", Count: 2, Region: "af-south-1", Price: 1_250_000, Namespaces: true},
			network.NodeSpec{Name: otherSandbox, Provider: 5, GPU: "A100", Count: 1, Region: "af-south-2", Price: 1_240_000, Namespaces: true},
		)
	}
	return all
}
