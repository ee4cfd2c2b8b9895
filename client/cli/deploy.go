package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

func (s *session) deploy() error {
	defer s.forwardPorts()()
	b, err := s.buyer()
	if err != nil {
		return err
	}
	r, err := s.request()
	if err != nil {
		return err
	}
	s.sayPorts(&r)
	if s.dryRun {
		if err := s.leftovers(); err != nil {
			return err
		}
	}
	return s.bought(b.Buy(s.ctx, r))
}

// bought prints what a purchase has come to.
func (s *session) bought(out *buy.Outcome, err error) error {
	if out == nil {
		return err
	}
	printed := s.done(out, func(w io.Writer) {
		for _, j := range out.Leases {
			leaseSummary(w, &j)
		}
		for _, p := range out.Public {
			for _, port := range p.Ports {
				printURL(w, port.Port.Port, port.URL)
			}
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
	signer, err := s.wallet()
	if err != nil {
		return nil, err
	}
	customer, err := s.customer()
	if err != nil {
		return nil, err
	}
	root, err := s.stateRoot()
	if err != nil {
		return nil, err
	}
	o := buy.Options{
		Client: s.client, Service: s.service, Wallet: signer, Customer: customer, Root: root, Fees: s.fees, Network: s.joined,
		DryRun: s.dryRun, Log: s.log, OnEvent: s.event, Confirm: s.confirmOffer, Waiting: s.waitingFor, Output: s.jobOutput,
	}
	if s.browser == nil { // a wallet in a browser signs transactions alone
		if o.Key, err = s.keyFile(); err != nil {
			return nil, err
		}
	}
	return buy.New(s.ctx, o)
}

// confirmOffer asks whether an order is to be placed. A server places several at once: what is agreed to is for this
// one.
func (s *session) confirmOffer(_ context.Context, o buy.Offer) error {
	asked := *s
	return asked.confirm("order    %s × %d×%s for %s at %s USDC per GPU-hour at most: %s USDC of the credits are reserved",
		service.Plural(int(o.Nodes), "node"), o.GPUs, o.Model, service.Span(int64(o.Seconds)), o.MaxPrice, o.Cost)
}

// jobOutput is where the output of a lease's job goes: lines of several machines are marked with where they come from.
func (s *session) jobOutput(l market.Lease, oneOfSeveral bool) io.Writer {
	if !oneOfSeveral {
		return s.output
	}
	return &prefixed{w: s.output, prefix: "[" + service.Short(l.Node) + "] "}
}

// prefixed marks every line with where it comes from. Lines of several machines do not mix.
type prefixed struct {
	w      io.Writer
	prefix string
	rest   []byte
}

func (p *prefixed) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	for {
		i := bytes.IndexByte(p.rest, '\n')
		if i < 0 {
			return len(b), nil
		}
		line := append([]byte(p.prefix), p.rest[:i+1]...)
		p.rest = p.rest[i+1:]
		if _, err := p.w.Write(line); err != nil {
			return len(b), err
		}
	}
}

// Flush writes a last line without a line break.
func (p *prefixed) Flush() error {
	if len(p.rest) == 0 {
		return nil
	}
	_, err := p.w.Write([]byte(p.prefix + string(p.rest) + "\n"))
	p.rest = nil
	return err
}
