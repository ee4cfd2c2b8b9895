package network

import (
	"fmt"
	"path/filepath"

	"github.com/gantry-market/gantry/localnet/fleet"
	"github.com/gantry-market/gantry/localnet/process"
)

// FleetName is the name of the process that runs all agents of a network with Config.Fleet.
const FleetName = "fleet"

// launchFleet starts one process for all machines, which registers them first.
func (n *Network) launchFleet() error {
	at := n.endpoint()
	s := fleet.Spec{RPC: at.RPC, WS: at.WS, Agent: n.bins.agent}
	for _, m := range n.Nodes {
		if m.Slow > 1 {
			return fmt.Errorf("%s: machines of a fleet share their processors, so one alone cannot be slower", m.Name)
		}
		s.Members = append(s.Members, fleet.Member{
			Name: m.Name, Wallet: m.Owner.Path, NodeKey: m.Key.Path, DataDir: n.agentDir(m.Name),
			Inventory: m.inventory(), Region: m.Region, Price: m.Price.String(), SilenceFile: m.silence,
		})
	}
	path := filepath.Join(n.cfg.Dir, "fleet.json")
	if err := s.Write(path); err != nil {
		return err
	}
	_, err := n.sup.Start(process.Spec{
		Name: FleetName, Path: n.bins.localnet, Args: []string{"fleet", "--log-json", path}, Dir: n.cfg.Dir,
		Restart: process.OnCrash, Env: n.home(FleetName),
	})
	return err
}
