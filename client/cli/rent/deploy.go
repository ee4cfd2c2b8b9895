package rent

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
)

func (s *session) deploy() error { return s.buy(s.request) }

// buy buys what the flags ask for.
func (s *session) buy(request func() (buy.Request, error)) error {
	defer s.forwardPorts()()
	s.ShowSteps()
	b, err := s.buyer()
	if err != nil {
		return err
	}
	r, err := request()
	if err != nil {
		return err
	}
	s.Plan(&r)
	s.sayPorts(&r)
	if s.DryRun {
		if err := s.Leftovers(); err != nil {
			return err
		}
	}
	out, err := b.Buy(s.Context, r)
	s.EndSteps(err)
	return s.bought(out, err)
}

// bought prints what a purchase has come to.
func (s *session) bought(out *buy.Outcome, err error) error {
	if out == nil {
		return err
	}
	printed := s.Done(out, func(w *terminal.Page) {
		for _, j := range out.Leases {
			terminal.WriteLease(w, &j)
		}
		for _, p := range out.Public {
			for _, port := range p.Ports {
				printURL(w, port.Port.Port, port.URL)
			}
		}
		if len(out.Leases) > 1 {
			w.Hint("the machines together: gantry cluster status " + cmp.Or(out.Name, out.Order))
		}
		if out.Rerun != nil {
			fmt.Fprintln(w, out.Rerun.Text)
		}
	})
	if err == nil {
		return printed
	}
	return err
}

// buyer buys as the command's wallet, for its customer.
func (s *session) buyer() (*buy.Buyer, error) {
	signer, err := s.Wallet()
	if err != nil {
		return nil, err
	}
	customer, err := s.Customer()
	if err != nil {
		return nil, err
	}
	root, err := s.StateRoot()
	if err != nil {
		return nil, err
	}
	o := buy.Options{
		Client: s.Client, Service: s.Service, Wallet: signer, Customer: customer, Root: root, Fees: s.Fees, Sponsor: s.Sponsor, Network: s.Network,
		DryRun: s.DryRun, Log: s.Log, OnEvent: s.event, Confirm: s.confirmOffer, Waiting: s.WaitingFor, Output: s.jobOutput, Serves: container.Serves,
		DockerLogins: true,
	}
	if !s.InBrowser() { // a wallet in a browser signs transactions alone
		if o.Key, err = s.KeyFile(); err != nil {
			return nil, err
		}
	}
	return buy.New(s.Context, o)
}

// event prints a step of a purchase, and begins or ends the forwards of its ports.
func (s *session) event(e buy.Event) {
	s.Event(e)
	if s.forwards != nil {
		s.forwards.event(e)
	}
}

// confirmOffer asks whether an order is to be placed. A server places several at once: what is agreed to is for this
// one.
func (s *session) confirmOffer(_ context.Context, o buy.Offer) error {
	asked := *s.Session
	return asked.Confirm("order    %s × %d×%s%s for %s at %s USDC per GPU-hour at most: %s USDC of the credits are reserved",
		service.Plural(int(o.Nodes), "node"), o.GPUs, o.Model, o.Needs, service.Span(int64(o.Seconds)), o.MaxPrice, o.Cost)
}

// jobOutput is where the output of a lease's job goes: lines of several machines are marked with where they come from.
func (s *session) jobOutput(l market.Lease, oneOfSeveral bool) io.Writer {
	s.EndSteps(nil)
	if !oneOfSeveral {
		return s.Output
	}
	return &container.Marked{W: s.Output, Prefix: "[" + service.Short(l.Node) + "] "}
}
