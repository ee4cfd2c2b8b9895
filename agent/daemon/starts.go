package daemon

import (
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/starts"
	"github.com/gantry-market/gantry/sdk/market"
)

// openStarts reads how containers of images have started here.
func (a *Agent) openStarts(node market.Node) (err error) {
	sandbox := ""
	if path := a.cfg.FindRunsc(); path != "" && a.cfg.Isolation() >= market.Sandbox {
		if sandbox, err = runtime.RunscVersion(path); err != nil {
			a.log.Warn().Err(err).Msg("records of starts do not say which runsc this machine has")
		}
	}
	a.starts, err = starts.New(starts.Options{
		Keeps: a.store.Starts(), Signer: a.key, Domain: a.domain, Node: node.Address, Now: a.clock.Now,
		Driver: func() string { return a.machine.Inventory.Driver.Version }, Sandbox: func() string { return sandbox },
		Model: func() uint16 {
			if now, ok := a.view.Node(node.Address); ok {
				return now.Spec.Model
			}
			return node.Spec.Model
		},
	})
	return err
}
