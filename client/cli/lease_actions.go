package cli

import (
	"bytes"
	"fmt"
	"io"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func (s *session) logs() error {
	args, err := s.args("LEASE")
	if err != nil {
		return err
	}
	v, l, err := s.ownLease(s.live, args[0], query.Kind(market.KindKeeper))
	if err != nil {
		return err
	}
	r, err := s.dial(v)
	if err != nil {
		return err
	}
	w := s.output
	var kept bytes.Buffer
	if s.json {
		w = &kept
	}
	if s.cli.Bool("follow") {
		err = r.Follow(s.ctx, l, s.cli.Uint64("offset"), w)
		if s.ctx.Err() != nil {
			return interrupted(fmt.Sprintf("stopped following; lease %s is %s", l.Address, l.State()), "")
		}
	} else {
		_, _, err = r.Logs().Read(s.ctx, l, s.cli.Uint64("offset"), false, buy.WriteTo(w))
	}
	if err != nil {
		return service.Unread(err)
	}
	if s.json {
		return s.done(map[string]string{"lease": l.Address.String(), "output": kept.String()}, nil)
	}
	return nil
}

func (s *session) stop() error {
	args, err := s.args("LEASE")
	if err != nil {
		return err
	}
	b, err := s.buyer()
	if err != nil {
		return err
	}
	lease, err := s.leaseNamed(args[0])
	if err != nil {
		return err
	}
	stopped, err := b.Stop(s.ctx, lease)
	if err != nil {
		return err
	}
	return s.stopped(stopped, func(io.Writer) {})
}

// stopped prints what came of a lease that was ended; more is printed first.
func (s *session) stopped(x buy.Stopped, more func(io.Writer)) error {
	return s.done(x.Lease, func(w io.Writer) {
		leaseSummary(w, &x.Lease)
		more(w)
		if x.ByMachine {
			return
		}
		fmt.Fprintf(w, "%s USDC of the reservation are free again\n", x.Freed)
		if x.Unsettled > 0 {
			fmt.Fprintf(w, "the last %d s are settled by the keepers' next report\n", x.Unsettled)
		}
		fmt.Fprintf(w, "rate it with: gantry rate %s 5\n", x.Lease.Address)
	})
}

func (s *session) leaseDone(v *view.View, l market.Lease, tx sent, more func(io.Writer)) error {
	j := service.DescribeLease(v, &l, s.service.Clock.Latest(s.ctx).Unix())
	j.Tx = &tx
	return s.done(j, func(w io.Writer) {
		leaseSummary(w, &j)
		more(w)
	})
}

func (s *session) extend() error {
	args, err := s.args("LEASE")
	if err != nil {
		return err
	}
	secs, none, err := s.duration()
	if err != nil {
		return err
	}
	if none {
		return usage("the time is missing", "say how much longer, such as --hours 2")
	}
	v, l, err := s.ownLease(s.snapshot, args[0])
	if err != nil {
		return err
	}
	b, err := s.buyer()
	if err != nil {
		return err
	}
	if err := b.MayExtend(s.ctx, &l, secs); err != nil {
		return err
	}
	cost, err := l.Owed(secs)
	if err != nil {
		return err
	}
	if err := s.confirm("extend   lease %s by %s for %s USDC of the credits", l.Address, service.Span(int64(secs)), cost); err != nil {
		return err
	}
	by, err := s.authority()
	if err != nil {
		return err
	}
	instruction, err := ix.LeaseExtend(ix.LeaseExtendArgs{Lease: l, Authority: by, Seconds: secs})
	tx, err := s.sendOne("lease_extend", instruction, err)
	if err != nil {
		return err
	}
	if l, err = query.Fetch[market.Lease](s.ctx, s.client, l.Address, s.client.WaitLevel()); err != nil {
		return err
	}
	return s.leaseDone(v, l, tx, func(w io.Writer) {
		fmt.Fprintf(w, "%s longer, %s USDC reserved   tx %s\n", service.Span(int64(secs)), cost, tx.Signature)
	})
}

func (s *session) rate() error {
	args, err := s.args("LEASE", "STARS")
	if err != nil {
		return err
	}
	if len(args[1]) != 1 || args[1][0] < '1' || args[1][0] > '5' {
		return usage(fmt.Sprintf("%q is not a number of stars", args[1]), "give 1 to 5")
	}
	v, l, err := s.ownLease(s.snapshot, args[0])
	if err != nil {
		return err
	}
	instruction, err := ix.LeaseRate(ix.LeaseRateArgs{Lease: l, Stars: args[1][0] - '0'})
	tx, err := s.sendOne("lease_rate", instruction, err)
	if err != nil {
		return err
	}
	l.Rating = args[1][0] - '0'
	return s.leaseDone(v, l, tx, func(w io.Writer) { fmt.Fprintf(w, "rated %s of 5   tx %s\n", args[1], tx.Signature) })
}

func (s *session) closeLease() error {
	args, mk, key, err := s.begin("LEASE")
	if err != nil {
		return err
	}
	scope, err := s.aboutLease(args[0])
	if err != nil {
		return err
	}
	v, err := s.snapshot(scope)
	if err != nil {
		return err
	}
	l, err := s.lease(v, args[0])
	if err != nil {
		return err
	}
	now, err := s.now()
	if err != nil {
		return err
	}
	n, ok := v.Node(l.Node)
	if !ok {
		return refused(fmt.Sprintf("node %s of the lease does not exist", l.Node), "")
	}
	if err := l.CanClose(key.PublicKey(), &n, &mk.Params, now); market.Is(err, market.CodeUnsettled) {
		deadline := l.ClaimableSince() + int64(l.SettleSecs)
		return refused(fmt.Sprintf("lease %s has claims that are not settled yet", l.Address),
			fmt.Sprintf("wait for the keepers' report, at the latest until %s UTC", service.When(deadline)))
	}
	closing := ix.LeaseCloseArgs{Authority: key.PublicKey(), Lease: l, Emission: mk.Params.EmissionBps > 0}
	if closing.KeeperGone, err = s.missing(market.KeeperAddress(l.Lease.Keeper)); err != nil {
		return err
	}
	instruction, err := ix.LeaseClose(closing)
	tx, err := s.sendOne("lease_close", instruction, err)
	if err != nil {
		return err
	}
	back := market.USDC(l.Lease.Reserved) - min(market.USDC(l.Lease.Reserved), l.FeeTotal())
	return s.leaseDone(v, l, tx, func(w io.Writer) {
		fmt.Fprintf(w, "closed; %s USDC came back   its history: gantry audit %s   tx %s\n", back, l.Address, tx.Signature)
	})
}
