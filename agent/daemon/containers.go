package daemon

import (
	"context"
	"fmt"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/gpus"
	"github.com/gantry-market/gantry/agent/guestvm"
	"github.com/gantry-market/gantry/agent/network"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/sdk/market"
)

// openRuntime makes what runs jobs. The machine is open already.
func (a *Agent) openRuntime(ctx context.Context, cluster runtime.Cluster) error {
	driver, err := a.openGPUs(ctx)
	if err != nil {
		return err
	}
	o := runtime.ProcessOptions{
		Root: a.cfg.JobsDir(), Cluster: cluster, Executable: a.executable(), Log: a.log,
		Sandbox: runtime.Sandbox{
			Runsc: a.cfg.FindRunsc(), Programs: a.cfg.ProgramsDir(), Driver: driver, Shell: config.FindShell(a.executable()), Images: a.cfg.ImagesDir(),
			CacheBytes: int64(a.cfg.ImageCache) << 30, LocalRegistries: a.cfg.LocalRegistries,
		},
	}
	if o.Network, err = a.cfg.Network.Options(); err != nil {
		return err
	}
	process, err := runtime.NewProcess(ctx, o)
	if err != nil {
		return err
	}
	a.openGroup = process.OpenGroup
	a.runtime, a.images, a.trouble = process, process.Images, process.NetworkTrouble()
	if err := a.openVirtual(); err != nil {
		return err
	}
	for _, what := range a.trouble {
		a.log.Warn().Msg(what)
	}
	return process.CleanImages(ctx)
}

// openVirtual makes what runs measured guests, where the settings name an image. A machine that lacks what they need says so, and serves
// other leases.
func (a *Agent) openVirtual() error {
	s, wanted := a.cfg.Guest.Settings()
	left, err := guestvm.Left(a.cfg.GuestsDir())
	if err != nil || !wanted && !left { // guests of earlier settings go on
		return err
	}
	o := guestvm.Options{Settings: s, Folder: a.cfg.GuestsDir(), Log: a.log.With().Str("part", "guests").Logger()}
	if !a.local { // on a local network a guest fetches its image from the machine itself
		settings, err := a.cfg.Network.Options()
		if err != nil {
			return err
		}
		settings.Owner = o.Folder
		net, err := network.New(settings)
		if err != nil {
			return err
		}
		live, err := guestvm.Live(o.Folder)
		if err != nil {
			return err
		}
		if err := net.Sweep(live); err != nil { // of guests whose supervisors were killed
			return err
		}
		o.Network = net.Plan
	}
	if a.virtual, err = guestvm.New(a.runtime, o); err != nil {
		return err
	}
	a.runtime = a.virtual
	switch err := s.Check(); {
	case !wanted:
		a.log.Info().Msg("the settings name no image of measured guests any more: those that run go on, and new ones are declined")
	case err != nil:
		a.log.Error().Err(err).Msg("measured guests cannot start: orders with --guest are declined")
	case s.Accelerator == guestvm.TCG:
		a.log.Warn().Msg("measured guests run on an emulated processor, which is slow: they are for trials alone")
	}
	return nil
}

// closeVirtual leaves the measured guests to the next agent.
func (a *Agent) closeVirtual() {
	if a.virtual != nil {
		a.virtual.Close()
	}
}

// openGPUs finds out how containers get the machine's GPUs; nil: they get none. Without them a node of a cluster that is not local would
// sell what its jobs do not have.
func (a *Agent) openGPUs(ctx context.Context) (func(context.Context) (gpus.Driver, error), error) {
	inv := a.machine.Inventory
	if inv.Simulated || len(inv.GPUs) == 0 || a.cfg.Isolation() < market.Sandbox {
		return nil, nil
	}
	source := &gpus.Source{Folder: a.cfg.GPUsDir(), Runsc: a.cfg.FindRunsc(), Ask: a.machine.Nodes, Facts: func(ctx context.Context) (f gpus.Facts) {
		f.CUDA, f.Arch, f.Brand = a.machine.Requirable(ctx)
		return f
	}}
	driver, err := source.Fresh(ctx)
	switch {
	case err == nil:
		a.log.Info().Str("driver", driver.Version).Str("specification", driver.Spec).Msg("containers get the GPUs of their lease")
	case a.local:
		a.log.Warn().Err(err).Msg("containers get no GPUs")
		return nil, nil
	default:
		return nil, fmt.Errorf("%w: containers would get no GPUs: %w", config.ErrConfig, err)
	}
	return source.Now, nil
}
