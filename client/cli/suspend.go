package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

var suspendProtocol = func() p2p.Protocol {
	p := toNode(messages.Suspend)
	p.Since = 2
	return p
}()

const (
	// suspendPoll is how often the machine is asked how far it is.
	suspendPoll = 300 * time.Millisecond
	// protocolTime is how long a machine may not know the protocol: an agent that starts anew answers before it does.
	protocolTime = 10 * time.Second
	// checkpointTime is how long the machine may take to put the snapshot's hash on chain before the lease is ended without.
	checkpointTime = 15 * time.Second
)

func suspendCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name: "suspend", Usage: "keep a lease's container, with its processes and memory, and end the lease", ArgsUsage: "LEASE",
		Description: "The machine freezes the container. It stores memory, processes, volume and changed files of the image in the bucket of\n" +
			"deploy --backup, encrypted with your key. Then the lease ends, and nothing is billed any more.\n" +
			"gantry deploy --restore continues it on any machine with the same version of gVisor. Open connections are lost. A container\n" +
			"that cannot be stored keeps running, and so does its lease.",
		Flags: asSession(), Action: action(s, (*session).suspend),
	}
}

func (s *session) suspend() error {
	args, _, key, err := s.begin("LEASE")
	if err != nil {
		return err
	}
	v, l, err := s.ownLease(s.live, args[0], query.Kind(market.KindKeeper))
	if err != nil {
		return err
	}
	if l.State() != market.LeaseRunning {
		return refused(fmt.Sprintf("lease %s does not run: it is %s", l.Address, l.State()), "see: gantry leases")
	}
	r, err := s.dial(v)
	if err != nil {
		return err
	}
	began := time.Now()
	hash, err := s.awaitSuspended(v, r, l)
	if err != nil {
		return err
	}
	s.say(" ✓ suspended  after %.1f s: snapshot %s", time.Since(began).Seconds(), hash)
	next := func(w io.Writer) {
		fmt.Fprintf(w, "suspended; go on with: %s\n", s.goOnWith(v, l, hash))
	}
	ctx, cancel := context.WithTimeout(s.ctx, checkpointTime)
	defer cancel()
	ended := false
	err = v.WaitFor(ctx, func(v *view.View) bool {
		cur, ok := v.Lease(l.Address)
		ended = !ok || cur.State() != market.LeaseRunning
		return ended || snapshot.Hash(cur.CheckpointHash) == hash
	})
	switch {
	case s.ctx.Err() != nil:
		return interrupted(fmt.Sprintf("lease %s is suspended as %s and runs on", l.Address, hash), "end it with: gantry stop "+l.Address.String())
	case err != nil:
		s.say(" · snapshot  its hash is not on chain yet; it stands above")
	case ended: // its machine ends a lease that runs to completion
		if cur, ok := v.Lease(l.Address); ok {
			l = cur
		}
		j := service.DescribeLease(v, &l, s.service.Clock.Latest(s.ctx).Unix())
		return s.done(j, func(w io.Writer) {
			leaseSummary(w, &j)
			next(w)
		})
	}
	return s.endLease(v, l, key.PublicKey(), next)
}

// awaitSuspended asks the machine to suspend a lease's container, and waits until it has.
func (s *session) awaitSuspended(v *view.View, r *remote, l market.Lease) (hash snapshot.Hash, err error) {
	req := messages.SuspendRequest{Version: messages.Version, Lease: l.Address}
	if _, err := rand.Read(req.Attempt[:]); err != nil {
		return hash, fmt.Errorf("random number: %w", err)
	}
	stop := s.waiting("the machine to save the container", "Ctrl-C leaves it to the machine, and the lease to you")
	defer stop()
	for began, answered := time.Now(), false; ; {
		ctx, cancel := context.WithTimeout(s.ctx, enterTime)
		answer, err := call[messages.SuspendRequest, messages.SuspendAnswer](ctx, r, l.NodeKey, suspendProtocol, req)
		cancel()
		cur, ok := v.Lease(l.Address)
		answered = answered || err == nil
		switch {
		case s.ctx.Err() != nil:
			return hash, interrupted(fmt.Sprintf("interrupted while lease %s is suspended; it is billed until it is ended", l.Address),
				fmt.Sprintf("go on with: gantry suspend %s", l.Address))
		case errors.Is(err, p2p.ErrProtocol) && !answered && time.Since(began) > protocolTime:
			return hash, refused("the machine's agent cannot suspend containers", "its provider has to update it")
		case errors.Is(err, p2p.ErrVersion):
			return hash, network(err.Error(), "", err)
		case err == nil && answer.Refused != "":
			return hash, refused((&service.RefusedByNode{Why: answer.Refused}).Error(), "the lease runs on; see: gantry leases, gantry stop "+l.Address.String())
		case err == nil && answer.Failed != "":
			return hash, refused("the container could not be suspended, and runs on: "+answer.Failed, "try again, or end the lease: gantry stop "+l.Address.String())
		case err == nil && answer.Hash != [32]byte{}:
			return answer.Hash, nil
		case !ok || cur.State() != market.LeaseRunning:
			return hash, refused(fmt.Sprintf("lease %s ended before its container was saved", l.Address), "its last snapshot on chain: gantry audit "+l.Address.String())
		}
		select { // also when the machine does not answer: its agent may be starting anew
		case <-s.ctx.Done():
		case <-time.After(suspendPoll):
		}
	}
}

// goOnWith is the command that goes on with a suspended container.
func (s *session) goOnWith(v *view.View, l market.Lease, hash snapshot.Hash) string {
	words := []string{"gantry deploy --restore", hash.String()}
	all, err := s.purchases()
	at := slices.IndexFunc(all, func(p purchase.Purchase) bool { return p.Order == l.Order && p.Backup != nil })
	if err != nil || at < 0 {
		words = append(words, "--backup s3://BUCKET/FOLDER (as the lease was deployed)")
	} else {
		b := all[at].Backup
		words = append(words, "--backup", "s3://"+b.Bucket+"/"+b.Prefix, "--backup-endpoint", b.Endpoint)
	}
	model := "MODEL"
	if n, ok := v.Node(l.Node); ok {
		if m, ok := v.Model(n.Spec.Model); ok {
			model = m.ModelName()
		}
	}
	return strings.Join(append(words, "--gpu", model, "--hours 1"), " ")
}

// goOn makes the flags of deploy those of a suspended container, where they are not given, and refuses others. It returns the
// container's command.
func (s *session) goOn(c snapshot.Container, command []string) ([]string, error) {
	differs := func(flag string) error {
		return usage(fmt.Sprintf("a suspended container goes on as it was, and --%s is another", flag), fmt.Sprintf("leave --%s out", flag))
	}
	switch {
	case len(command) > 0 && !slices.Equal(command, c.Command):
		return nil, usage("a suspended container goes on with its own command", "leave the command out")
	case s.cli.IsSet("env"):
		return nil, differs("env")
	case s.cli.Uint("nodes") != 1 || s.cli.IsSet("redundancy") || s.cli.IsSet("rerun"):
		return nil, usage("a suspended container goes on on one machine", "leave --nodes, --redundancy and --rerun out")
	case s.cli.IsSet("memory") && s.cli.Uint64("memory")<<20 < uint64(c.Memory):
		return nil, usage(fmt.Sprintf("the container's memory has %d MiB, more than --memory", c.Memory>>20), "give more")
	}
	network := c.Network
	if network == "" {
		network = "none"
	}
	if s.cli.IsSet("network") && s.cli.String("network") != network {
		return nil, differs("network")
	}
	if s.cli.IsSet(flagVolume) {
		given, err := messages.ParseVolume(s.cli.String(flagVolume))
		if err != nil {
			return nil, usage("--volume: "+err.Error(), "")
		}
		if given.Path != c.Volume.Path || given.MiB < c.Volume.MiB {
			return nil, usage(fmt.Sprintf("the container's volume has %d MiB and is at %s", c.Volume.MiB, c.Volume.Path), "leave --volume out, or give a larger one at the same path")
		}
	}
	if given := s.cli.String("image"); given != "" && given != c.Image {
		return nil, differs("image")
	}
	for name, value := range map[string]string{
		"image": c.Image, "network": network, flagVolume: fmt.Sprintf("%s:%dMiB:%s", c.Volume.Name, c.Volume.MiB, c.Volume.Path),
	} {
		if s.cli.IsSet(name) {
			continue
		}
		if err := s.cli.Set(name, value); err != nil {
			return nil, fmt.Errorf("--%s of the suspended container: %w", name, err)
		}
	}
	s.say(" · goes on  with %d MiB of memory, on a machine with runsc %s; open connections are lost", c.Memory>>20, c.Runsc)
	return c.Command, nil
}
