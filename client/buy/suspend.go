package buy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

var suspendProtocol = ToNode(messages.Suspend)

const (
	// askTime is how long a machine may take to answer.
	askTime = 30 * time.Second
	// suspendPoll is how often the machine is asked how far it is.
	suspendPoll = 300 * time.Millisecond
	// protocolTime is how long a machine may not know the protocol: an agent that starts anew answers before it does.
	protocolTime = 10 * time.Second
	// checkpointTime is how long the machine may take to put the snapshot's hash on chain before the lease is ended
	// without.
	checkpointTime = 15 * time.Second
)

// Suspend has the machine of a lease store its container, and ends the lease. The hash is that of the snapshot.
func (b *Buyer) Suspend(ctx context.Context, lease solana.PublicKey) (snapshot.Hash, Stopped, error) {
	v, l, stop, err := b.own(ctx, lease, query.Kind(market.KindKeeper))
	if err != nil {
		return snapshot.Hash{}, Stopped{}, err
	}
	defer stop()
	if l.State() != market.LeaseRunning {
		return snapshot.Hash{}, Stopped{}, refused(fmt.Sprintf("lease %s does not run: it is %s", l.Address, l.State()), "see: gantry leases")
	}
	r, err := b.dial(ctx, v)
	if err != nil {
		return snapshot.Hash{}, Stopped{}, err
	}
	defer r.Close()
	began := time.Now()
	hash, err := b.awaitSuspended(ctx, v, r, l)
	if err != nil {
		return hash, Stopped{}, err
	}
	b.tell(Suspended{Lease: l, Snapshot: hash, After: time.Since(began)})
	wait, cancel := context.WithTimeout(ctx, checkpointTime)
	defer cancel()
	ended := false
	err = v.WaitFor(wait, func(v *view.View) bool {
		cur, ok := v.Lease(l.Address)
		ended = !ok || cur.State() != market.LeaseRunning
		return ended || snapshot.Hash(cur.CheckpointHash) == hash
	})
	switch {
	case ctx.Err() != nil:
		return hash, Stopped{}, interrupted(fmt.Sprintf("lease %s is suspended as %s and runs on", l.Address, hash), "end it with: gantry stop "+l.Address.String())
	case err != nil:
		b.tell(SnapshotUnannounced{Lease: l.Address})
	case ended: // its machine ends a lease that runs to completion
		if cur, ok := v.Lease(l.Address); ok {
			l = cur
		}
		return hash, Stopped{Lease: service.DescribeLease(v, &l, b.service.Clock.Latest(ctx).Unix()), ByMachine: true}, nil
	}
	stopped, err := b.end(ctx, v, l)
	return hash, stopped, err
}

// awaitSuspended asks the machine to suspend a lease's container, and waits until it has.
func (b *Buyer) awaitSuspended(ctx context.Context, v *view.View, r *Remote, l market.Lease) (hash snapshot.Hash, err error) {
	req := messages.SuspendRequest{Version: messages.Version, Lease: l.Address}
	if _, err := rand.Read(req.Attempt[:]); err != nil {
		return hash, fmt.Errorf("random number: %w", err)
	}
	stop := b.waiting(Wait{For: WaitSuspended, Order: l.Order})
	defer stop()
	for began, answered := time.Now(), false; ; {
		try, cancel := context.WithTimeout(ctx, askTime)
		answer, err := Call[messages.SuspendRequest, messages.SuspendAnswer](try, r, l.NodeKey, suspendProtocol, req)
		cancel()
		cur, ok := v.Lease(l.Address)
		answered = answered || err == nil
		switch {
		case ctx.Err() != nil:
			return hash, interrupted(fmt.Sprintf("interrupted while lease %s is suspended; it is billed until it is ended", l.Address),
				fmt.Sprintf("continue with: gantry suspend %s", l.Address))
		case errors.Is(err, p2p.ErrProtocol) && !answered && time.Since(began) > protocolTime:
			return hash, refused("the machine's agent cannot suspend containers", "its provider has to update it")
		case errors.Is(err, p2p.ErrVersion):
			return hash, network(err.Error(), "", err)
		case err == nil && answer.Refused == messages.ContainerStarts && time.Since(began) < service.StartTime: // it is asked again
		case err == nil && answer.Refused != "":
			return hash, refused((&service.RefusedByNode{Why: answer.Refused}).Error(), "the lease runs on; see: gantry leases, gantry stop "+l.Address.String())
		case err == nil && answer.Failed != "":
			return hash, refused("the container could not be suspended, and runs on: "+answer.Failed, "try again, or end the lease: gantry stop "+l.Address.String())
		case err == nil && answer.Hash != [32]byte{}:
			return answer.Hash, nil
		case !ok || cur.State() != market.LeaseRunning:
			return hash, refused(fmt.Sprintf("lease %s ended before its container was saved", l.Address), "its last snapshot on chain: gantry audit "+l.Address.String())
		}
		_ = wait.For(ctx, suspendPoll) // also when the machine does not answer: its agent may be starting anew
	}
}

// restore fills in the request what a suspended container says, and refuses what differs from it.
func (r *Request) restore(c snapshot.Container) error {
	differs := func(flag string) error {
		return usage(fmt.Sprintf("a suspended container continues as it was, and --%s is another", flag), fmt.Sprintf("leave --%s out", flag))
	}
	net := c.Network
	if net == "" {
		net = networkNone
	}
	switch {
	case len(r.Command) > 0 && !slices.Equal(r.Command, c.Command):
		return usage("a suspended container continues with its own command", "leave the command out")
	case len(r.Env) > 0:
		return differs("env")
	case r.Nodes > 1 || r.Redundancy != 0 || r.Rerun != "":
		return usage("a suspended container continues on one machine", "leave --nodes, --redundancy and --rerun out")
	case r.Memory != 0 && r.Memory<<20 < uint64(c.Memory):
		return usage(fmt.Sprintf("the container's memory has %d MiB, more than --memory", c.Memory>>20), "give more")
	case r.Network != "" && r.Network != net:
		return differs("network")
	case r.Image != "" && r.Image != c.Image:
		return differs("image")
	}
	if r.Volume == "" {
		r.Volume = fmt.Sprintf("%s:%dMiB:%s", c.Volume.Name, c.Volume.MiB, c.Volume.Path)
	} else {
		given, err := messages.ParseVolume(r.Volume)
		if err != nil {
			return usage("--volume: "+err.Error(), "name it, its size and where the container sees it, such as data:50GiB:/data")
		}
		if given.Path != c.Volume.Path || given.MiB < c.Volume.MiB {
			return usage(fmt.Sprintf("the container's volume has %d MiB and is at %s", c.Volume.MiB, c.Volume.Path), "leave --volume out, or give a larger one at the same path")
		}
	}
	// It is resolved: with a restored container nothing of the request is asked of it again.
	r.Image, r.Network, r.Command, r.Restore = c.Image, net, c.Command, ""
	return nil
}
