package rent

import (
	"bytes"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func (s *session) logs() error {
	args, err := s.Args("LEASE")
	if err != nil {
		return err
	}
	v, l, err := s.OwnLease(s.Live, args[0], query.Kind(market.KindKeeper))
	if err != nil {
		return err
	}
	r, err := s.Dial(v)
	if err != nil {
		return err
	}
	b, err := s.buyer()
	if err != nil {
		return err
	}
	r.Folder = b.Folder()
	w := s.Output
	var kept bytes.Buffer
	if s.Format.Document() {
		w = &kept
	}
	if s.CLI.Bool("follow") {
		err = r.Follow(s.Context, l, s.CLI.Uint64("offset"), w)
		if s.Context.Err() != nil {
			return service.Interrupted(fmt.Sprintf("stopped following; lease %s is %s", l.Address, l.State()), "")
		}
	} else {
		_, _, err = r.Logs().Read(s.Context, l, s.CLI.Uint64("offset"), false, buy.WriteTo(w))
	}
	if err != nil {
		return service.Unread(err)
	}
	if s.Format.Document() {
		return s.Done(map[string]string{"lease": l.Address.String(), "output": kept.String()}, nil)
	}
	return nil
}

// buyerOf is the buyer, with the lease that the command names.
func (s *session) buyerOf() (b *buy.Buyer, lease solana.PublicKey, err error) {
	args, err := s.Args("LEASE")
	if err != nil {
		return nil, lease, err
	}
	if b, err = s.buyer(); err != nil {
		return nil, lease, err
	}
	lease, err = s.LeaseNamed(args[0])
	return b, lease, err
}

func (s *session) stop() error {
	b, lease, err := s.buyerOf()
	if err != nil {
		return err
	}
	stopped, err := b.Stop(s.Context, lease)
	if err != nil {
		return err
	}
	return s.stopped(stopped, func(*terminal.Page) {})
}

// stopped prints what came of a lease that was ended; more is printed first.
func (s *session) stopped(x buy.Stopped, more func(*terminal.Page)) error {
	return s.Done(x.Lease, func(w *terminal.Page) {
		terminal.WriteLease(w, &x.Lease)
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

func (s *session) leaseDone(v *view.View, l market.Lease, tx service.Sent, more func(*terminal.Page)) error {
	j := service.DescribeLease(v, &l, s.Service.Clock.Latest(s.Context).Unix())
	j.Tx = &tx
	return s.Done(j, func(w *terminal.Page) {
		terminal.WriteLease(w, &j)
		more(w)
	})
}

func (s *session) extend() error {
	args, err := s.Args("LEASE")
	if err != nil {
		return err
	}
	secs, none, err := s.duration()
	if err != nil {
		return err
	}
	if none {
		return service.Usage("the time is missing", "say how much longer, such as --hours 2")
	}
	v, l, err := s.OwnLease(s.Snapshot, args[0])
	if err != nil {
		return err
	}
	b, err := s.buyer()
	if err != nil {
		return err
	}
	a, tx, err := s.Act(func(*operate.Desk) (operate.Action, error) { return b.Extension(s.Context, &l, secs) })
	if err != nil {
		return err
	}
	if l, err = query.Fetch[market.Lease](s.Context, s.Client, l.Address, s.Client.WaitLevel()); err != nil {
		return err
	}
	return s.leaseDone(v, l, tx, func(w *terminal.Page) { fmt.Fprintf(w, "%s   tx %s\n", a.Did, tx.Signature) })
}

func (s *session) rate() error {
	args, err := s.Args("LEASE", "STARS")
	if err != nil {
		return err
	}
	if len(args[1]) != 1 || args[1][0] < '1' || args[1][0] > '5' {
		return service.Usage(fmt.Sprintf("%q is not a number of stars", args[1]), "give 1 to 5")
	}
	var v *view.View
	var l market.Lease
	stars := args[1][0] - '0'
	a, tx, err := s.Act(func(d *operate.Desk) (a operate.Action, err error) {
		if v, l, err = s.OwnLease(s.Snapshot, args[0]); err != nil {
			return a, err
		}
		return d.Rate(&l, stars)
	})
	if err != nil {
		return err
	}
	l.Rating = stars
	return s.leaseDone(v, l, tx, func(w *terminal.Page) { fmt.Fprintf(w, "%s   tx %s\n", a.Did, tx.Signature) })
}

func (s *session) closeLease() error {
	args, err := s.Args("LEASE")
	if err != nil {
		return err
	}
	var v *view.View
	var l market.Lease
	a, tx, err := s.Act(func(d *operate.Desk) (a operate.Action, err error) {
		if v, l, err = s.Lease(s.Snapshot, args[0]); err != nil {
			return a, err
		}
		n, ok := v.Node(l.Node)
		if !ok {
			return a, service.Refused(fmt.Sprintf("node %s of the lease does not exist", l.Node), "")
		}
		return d.CloseLease(s.Context, &l, &n)
	})
	if err != nil {
		return err
	}
	return s.leaseDone(v, l, tx, func(w *terminal.Page) {
		fmt.Fprintf(w, "%s   its history: gantry audit %s   tx %s\n", a.Did, l.Address, tx.Signature)
	})
}
