package govern

import (
	"fmt"
	"os"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/client/governance"
	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
)

// decide sends what is built for the one that governs, the wallet or its vault, and reports it. names are those of Args.
func (s *session) decide(build func(d governance.Desk, args []string) (operate.Action, error), names ...string) error {
	args, mk, by, err := s.govern(names...)
	if err != nil {
		return err
	}
	return s.decided(by, mk, func(d governance.Desk) (operate.Action, error) { return build(d, args) })
}

func (s *session) decided(by solana.PublicKey, mk market.Market, build func(d governance.Desk) (operate.Action, error)) error {
	d := governance.Desk{Desk: s.Reader()}
	d.Market, d.Key = mk, by
	a, err := build(d)
	if err != nil {
		return err
	}
	tx, err := s.Send(a.Kind, a.Instructions)
	if err != nil {
		return err
	}
	return s.Done(marketTx{market.MarketAddress().String(), tx}, func(w *terminal.Page) { fmt.Fprintf(w, "%s   tx %s\n", a.Did, tx.Signature) })
}

func (s *session) marketInit() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	by, err := s.governor()
	if err != nil {
		return err
	}
	var f governance.Founding
	var none solana.PublicKey
	if f.PaymentMint, err = s.keyFlag("payment-mint", none); err != nil {
		return err
	}
	if f.StakeMint, err = s.keyFlag("stake-mint", none); err != nil {
		return err
	}
	if f.Guardian, err = s.keyFlag("guardian", by); err != nil {
		return err
	}
	if f.Treasury, err = s.keyFlag("treasury", market.TokenAddress(by, f.PaymentMint)); err != nil {
		return err
	}
	if f.Params, err = s.params(market.DefaultParams()); err != nil {
		return err
	}
	return s.decided(by, market.Market{}, func(d governance.Desk) (operate.Action, error) { return d.Init(s.Context, f) })
}

func (s *session) marketPropose() error {
	return s.decide(func(d governance.Desk, _ []string) (a operate.Action, err error) {
		params, err := s.params(d.Market.Params)
		if err != nil {
			return a, err
		}
		return d.ProposeParams(params)
	})
}

func (s *session) marketApply() error {
	return s.decide(func(d governance.Desk, _ []string) (operate.Action, error) { return d.ApplyParams(s.Context) })
}

func (s *session) marketPause() error {
	return s.decide(func(d governance.Desk, args []string) (a operate.Action, err error) {
		bits, err := governance.ParsePaused(args[0])
		if err != nil {
			return a, err
		}
		return d.Pause(bits)
	}, "orders|awards|orders,awards|none")
}

func (s *session) rolesPropose() error {
	return s.decide(func(d governance.Desk, _ []string) (a operate.Action, err error) {
		r := d.Roles()
		for name, role := range map[string]*solana.PublicKey{"authority": &r.Authority, "guardian": &r.Guardian, "treasury": &r.Treasury} {
			if *role, err = s.keyFlag(name, *role); err != nil {
				return a, err
			}
		}
		return d.ProposeRoles(r)
	})
}

func (s *session) rolesApply() error {
	return s.decide(func(d governance.Desk, _ []string) (operate.Action, error) { return d.ApplyRoles(s.Context) })
}

func (s *session) modelApply() error {
	return s.decide(func(d governance.Desk, args []string) (a operate.Action, err error) {
		id, err := governance.ModelID(args[0])
		if err != nil {
			return a, err
		}
		return d.ApplyModel(s.Context, id)
	}, "ID")
}

func (s *session) modelPropose() error {
	args, g, err := s.classArgs()
	if err != nil {
		return err
	}
	id, err := governance.ModelID(args[0])
	if err != nil {
		return err
	}
	by, err := s.governor()
	if err != nil {
		return err
	}
	mk, err := s.Market()
	if err != nil {
		return err
	}
	return s.decided(by, mk, func(d governance.Desk) (a operate.Action, err error) {
		m := governance.Model{ID: id, Name: args[1], MinTier: uint8(s.CLI.Uint("min-tier"))}
		if err := s.modelTerms(&m, g, &mk.Params); err != nil {
			return a, err
		}
		return d.ProposeModel(m)
	})
}

// modelTerms reads the flags of a model; what is not given is taken from its class, where one is named.
func (s *session) modelTerms(a *governance.Model, g *class.GPU, p *market.Params) (err error) {
	price := s.orClass("reference-price", g, func(g *class.GPU) string { return g.Price })
	if a.ReferencePrice, err = market.ParsePrice(price); err != nil {
		return service.Usage("--reference-price: "+err.Error(), "")
	}
	stake := s.CLI.String("min-stake")
	if g != nil && !s.CLI.IsSet("min-stake") {
		if stake, err = governance.LeastStake(p, price); err != nil {
			return err
		}
	}
	if a.MinStake, err = market.ParseGNT(stake); err != nil {
		return service.Usage("--min-stake: "+err.Error(), "")
	}
	if a.TFLOPSx10, err = governance.ParseTenths(s.orClass("tflops", g, func(g *class.GPU) string { return fmt.Sprint(g.Sheet.FP16TFLOPS) })); err != nil {
		return service.Usage("--tflops: "+err.Error(), "")
	}
	for _, name := range []string{"vram", "min-tier"} {
		if s.CLI.Uint(name) > 1<<31 || (name == "min-tier" && s.CLI.Uint(name) > 3) {
			return service.Usage("--"+name+" is too large", "")
		}
	}
	a.VRAMMiB = uint32(s.CLI.Uint("vram"))
	if g != nil && !s.CLI.IsSet("vram") {
		a.VRAMMiB = g.MemoryMiB
	}
	if g != nil {
		a.MinOperations, a.MinBandwidth = g.Thresholds()
	}
	for name, figure := range map[string]*uint32{"min-tops": &a.MinOperations, "min-bandwidth": &a.MinBandwidth} {
		if g != nil && !s.CLI.IsSet(name) {
			continue
		}
		if *figure, err = service.ParseThousandths(s.CLI.String(name)); err != nil {
			return service.Usage("--"+name+": "+err.Error(), "")
		}
	}
	profile := s.orClass("profile", g, func(g *class.GPU) string { return market.ProfileText(service.ClassProfile(g)) })
	if a.Profile, err = governance.ParseProfile(profile); err != nil {
		return service.Usage("--profile: "+err.Error(), "")
	}
	return nil
}

// params applies --params and --set to parameters.
func (s *session) params(p market.Params) (market.Params, error) {
	if path := s.CLI.String("params"); path != "" {
		raw, err := os.ReadFile(path)
		if err != nil {
			return p, service.Usage(fmt.Sprintf("--params: %s cannot be read", path), "check the path")
		}
		if err := governance.DecodeParams(raw, &p); err != nil {
			return p, service.Usage(fmt.Sprintf("--params: %s: %v", path, err), "names and values are those of: gantry market show --json")
		}
	}
	return governance.SetParams(p, s.CLI.StringSlice("set"))
}
