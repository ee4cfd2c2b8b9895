package daemon

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/challenge"
	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/evidence"
	"github.com/gantry-market/gantry/agent/guestvm"
	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/agent/receipt"
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/txm"
)

// awaitNode finds the node account of the machine's key and waits for its registration.
func (a *Agent) awaitNode(ctx context.Context) (market.Node, error) {
	logged := false
	for {
		nodes, err := a.registered(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			a.log.Warn().Err(err).Msg("the node's account cannot be read; the agent tries again")
		case len(nodes) == 1:
			return nodes[0], nil
		case len(nodes) > 1:
			return market.Node{}, fmt.Errorf("%w: the machine's key is registered by %d providers; use another --node-key", config.ErrConfig, len(nodes))
		case !logged:
			logged = true
			a.service.Ready() // the chain was read, and the rest is the provider's
			a.log.Warn().Str("node_key", a.key.PublicKey().String()).Msg("the RPC endpoint shows no node with this machine's key; waiting for: gantry-agent register. If the machine is registered already, the endpoint's lists are incomplete: give the agent another --url")
		}
		if err := wait.For(ctx, registeredEvery); err != nil {
			return market.Node{}, err
		}
	}
}

// turn notes that the loop of the leases turns.
func (a *Agent) turn() {
	if l := a.turns.Load(); l != nil {
		l.Turn()
	}
}

// turnTime is how long the loop of the leases may take for one turn: it waits for the disk.
const turnTime = time.Minute

// registeredEvery is how often an agent that has no account yet looks for it.
const registeredEvery = time.Second

// registered lists the nodes of the machine's key. The node of a lease in the store is read by its address too: a list
// may lack it.
func (a *Agent) registered(ctx context.Context) ([]market.Node, error) {
	v := a.view
	if a.shared == nil {
		v = view.New(view.Options{Log: a.log})
		leases, err := a.store.Leases()
		if err != nil {
			return nil, err
		}
		var known []solana.PublicKey
		for _, l := range leases {
			if node := solana.PublicKey(l.Node); !slices.Contains(known, node) {
				known = append(known, node)
			}
		}
		own := view.Only([]chain.Filter{query.NodesWithKey(a.key.PublicKey())}, known...)
		if err := view.Snapshot(ctx, a.client, v, chain.Confirmed, own); err != nil {
			return nil, err
		}
	}
	if err := v.Ready(ctx); err != nil {
		return nil, err
	}
	return v.NodesByKey(a.key.PublicKey()), nil
}

// assemble makes the components that need the node's account.
func (a *Agent) assemble(node market.Node) error {
	a.node = node.Address
	if err := a.checkDevices(node); err != nil {
		return err
	}
	var err error
	a.txm, err = txm.New(txm.Options{
		RPC: a.client, Store: a.txStore, Keys: txm.NewKeys(a.key), Payer: a.key.PublicKey(), Log: a.log.With().Str("part", "txm").Logger(),
		Fees: a.cfg.Fees,
	})
	if err != nil {
		return err
	}
	if n, err := a.txm.Resume(nil); err != nil {
		return err
	} else if n > 0 {
		a.log.Info().Int("transactions", n).Msg("agent resumes transactions of an earlier process")
	}
	a.chain = &nodeChain{view: a.view, client: a.client, txm: a.txm, node: node.Address, nodeKey: a.key.PublicKey(), now: a.clock.Now}
	if err := lease.CheckStore(a.store, a.chain.Leases()); err != nil {
		return fmt.Errorf("%w: if another machine has this node's key, stop that one; otherwise move %s away and start again, and the agent continues with a new file: "+
			"leases whose jobs still run continue, and reports pay the seconds that no receipt has settled", err, a.cfg.StorePath())
	}
	a.receipts, err = receipt.New(receipt.Options{
		Chain: a.chain, Store: a.store, Key: a.key, Domain: a.domain, Interval: a.settleInterval(), Log: a.log, Now: a.clock.Now,
	})
	if err != nil {
		return err
	}
	if err := a.checkSpec(node.Spec); err != nil {
		return err
	}
	if err := a.openStarts(node); err != nil {
		return err
	}
	a.leases, err = lease.New(lease.Options{
		Chain: a.chain, Store: a.store, Runtime: a.runtime, NodeKey: a.key.PublicKey(), Domain: a.domain, GPUUUIDs: a.machine.UUIDs(),
		Guests:   a.virtual,
		Node:     shared(node.Spec, a.machine.Inventory),
		Identity: ed25519.PrivateKey(a.key), Settle: a.receipts.SettleNow, Faults: a.faultsOf, GPUs: a.machine.Use, Log: a.log,
		Asked:      func() time.Time { return time.Unix(0, a.asked.Load()) },
		Unmeasured: a.unmeasured, Yield: func(ctx context.Context, mask uint64) error { return a.idle.Yield(ctx, mask) },
		Wanted: a.wanted, Measured: a.isMeasured, Meeting: a.meeting, Now: a.clock.Now, Confirm: a.clock.Confirmed, Machine: time.Now, Turn: a.turn, Started: a.starts.Note,
	})
	if err != nil {
		return err
	}
	o := challenge.Options{
		Node: node.Address, Domain: a.domain, Log: a.log,
		MayChallenge: a.mayChallenge,
		Statuses:     a.leases.Statuses,
		Busy:         a.leases.Live,
		Inventory:    a.claim,
		Signer:       a.key, Genesis: a.genesis, Now: a.clock.Now, Tenant: a.tenant, Measured: a.measuredGuest,
	}
	t := a.simulation().tpm(evidence.NewTPM(a.machine.Inventory))
	if t != nil {
		o.TPM = t
	}
	if a.guest, err = guest.NewKey(); err != nil {
		return err
	}
	o.Guest = a.guest
	if o.Evidence, err = a.evidenceCollector(t); err != nil {
		return err
	}
	if a.challenges, err = challenge.New(o); err != nil {
		return err
	}
	for _, open := range []func() error{a.openOffer, a.openMeasure, a.openLine} {
		if err := open(); err != nil {
			return err
		}
	}
	return a.openIdle(shared(node.Spec, a.machine.Inventory))
}

// mayChallenge reports whether a key may ask this node for checks.
func (a *Agent) mayChallenge(key solana.PublicKey) bool {
	g := a.guests.Load()
	return g != nil && g.challenges(key)
}

// tenant is the digest of the job of a live lease, for a key of its customer. Error: *challenge.RefusedError for others.
func (a *Agent) tenant(ctx context.Context, key, of solana.PublicKey) ([32]byte, error) {
	a.challenges.Forget(a.leases.Held)
	digest, err := a.leases.Ordered(ctx, key, of)
	var refused *lease.RefusedError
	if errors.As(err, &refused) {
		err = &challenge.RefusedError{Why: refused.Why}
	}
	return digest, err
}

// measuredGuest is the guest of a lease, whose customer asks it. Errors: challenge.ErrBoots, *challenge.RefusedError.
func (a *Agent) measuredGuest(ctx context.Context, of solana.PublicKey) (challenge.Measured, error) {
	client, err := a.leases.MeasuredGuest(ctx, of)
	var refused *lease.RefusedError
	switch {
	case errors.Is(err, guestvm.ErrBoots):
		return nil, challenge.ErrBoots
	case errors.As(err, &refused):
		return nil, &challenge.RefusedError{Why: refused.Why}
	case err != nil:
		return nil, err
	}
	return client, nil
}

// checkDevices refuses to serve a node that was registered with other GPUs than this machine has: keepers would detect
// it, and it would cost the stake.
func (a *Agent) checkDevices(node market.Node) error {
	have := a.machine.Devices()
	if market.DeviceRoot(have) != node.DeviceRoot {
		silent := ""
		if list := a.machine.Inventory.Silent; len(list) > 0 {
			silent = "; " + strings.Join(list, "; ")
		}
		return fmt.Errorf("%w: node %s is registered with %d GPUs that are not those of this machine (%d found with --inventory %s%s); serving it would cost its stake. "+
			"If a GPU does not answer: nvidia-smi -i NUMBER -r, or restart the machine. If it has died: gantry-agent report-dead", config.ErrConfig, node.Address, node.Spec.Gpus, len(have),
			a.cfg.Inventory, silent)
	}
	return a.machine.Remember(a.cfg.KnownPath())
}

// settleInterval is short where transactions cost nothing.
func (a *Agent) settleInterval() time.Duration {
	if a.cfg.SettleInterval > 0 {
		return a.cfg.SettleInterval
	}
	if a.client.Local() {
		return 5 * time.Second
	}
	return 15 * time.Minute
}

// checkSpec compares what the node is registered with to what this machine can do now. Error: config.ErrConfig, where it may run
// nothing as it is registered.
func (a *Agent) checkSpec(spec market.NodeSpec) error {
	switch can, says := a.cfg.Isolation(), market.Isolation(spec.Isolation); {
	case !a.local && says < market.Sandbox:
		return fmt.Errorf("%w: the node is registered to run jobs without an image too, which run on local networks only; make it say that it runs images: "+
			"gantry-agent update --isolation sandbox", config.ErrConfig)
	case can < says:
		a.log.Error().Stringer("registered", says).Stringer("can", can).Msg("this machine cannot run jobs as the node is registered to (sandbox: images; volumes: those and encrypted volumes): such leases will not start, which costs reputation; images need runsc and an agent that runs as root, volumes also mkfs.ext4 and a kernel with fscrypt, or: gantry-agent update --isolation auto")
	case can > says:
		a.log.Warn().Stringer("registered", says).Stringer("can", can).Msg("this machine can offer more than the node is registered to: gantry-agent update --isolation auto")
	}
	switch now, says := a.machine.Inventory.Driver.Newest(), market.CUDA(spec.Cuda); {
	case now < says:
		a.log.Error().Stringer("registered", says).Stringer("now", now).Msg("the driver has an older CUDA than the node is registered with: keepers will find it unhealthy. Install the driver again, or: gantry-agent update --cuda")
	case now > says:
		a.log.Warn().Stringer("registered", says).Stringer("now", now).Msg("the driver has a newer CUDA than the node is registered with. More orders will fit after: gantry-agent update --cuda")
	}
	return nil
}

// shared is what leases share of the machine: what it is registered with. Processors and memory that are not there cannot be
// given. Free disk is not compared: leases' own files are on it.
func shared(spec market.NodeSpec, inv host.Inventory) jobspec.Share {
	threads, ram, _ := inv.Offered()
	return jobspec.Share{
		CPUs: float64(min(uint64(spec.CpuCores), threads)), MemoryMiB: min(uint64(spec.RamMib), ram), DiskMiB: uint64(spec.DiskGib) << 10,
	}
}
