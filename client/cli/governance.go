package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/client/governance"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
)

func (s *session) marketInit() error {
	if _, err := s.args(); err != nil {
		return err
	}
	by, err := s.governor()
	if err != nil {
		return err
	}
	var none solana.PublicKey
	payment, err := s.keyFlag("payment-mint", none)
	if err != nil {
		return err
	}
	stake, err := s.keyFlag("stake-mint", none)
	if err != nil {
		return err
	}
	own := market.TokenAddress(by, payment)
	treasury, err := s.keyFlag("treasury", own)
	if err != nil {
		return err
	}
	guardian, err := s.keyFlag("guardian", by)
	if err != nil {
		return err
	}
	params, err := s.params(market.DefaultParams())
	if err != nil {
		return err
	}
	domain, err := s.client.Domain(s.ctx)
	if err != nil {
		return err
	}
	accounts, err := s.client.Accounts(s.ctx, []solana.PublicKey{market.ProgramID, market.MarketAddress()}, s.client.WaitLevel())
	if err != nil {
		return err
	}
	switch {
	case accounts[0] == nil || !accounts[0].Executable:
		return network(fmt.Sprintf("the market program %s is not deployed on this cluster", market.ProgramID), "check --url", market.ErrProgramMissing)
	case accounts[1] != nil:
		return refused("the market exists already", "see: gantry market show")
	}
	instruction, err := ix.MarketInit(ix.MarketInitArgs{
		Authority: by, Guardian: guardian, PaymentMint: payment, StakeMint: stake, Treasury: treasury, Domain: domain, Params: params,
	})
	if err == nil && treasury == own {
		tx, err := s.send("market_init", []solana.Instruction{ix.CreateTokenAccount(by, by, payment), instruction})
		if err != nil {
			return err
		}
		return s.printMarketTx("market created", tx)
	}
	return s.marketDone("market_init", "market created", instruction, err)
}

func (s *session) marketPropose() error {
	_, mk, by, err := s.govern()
	if err != nil {
		return err
	}
	params, err := s.params(mk.Params)
	if err != nil {
		return err
	}
	if params == mk.Params {
		return usage("nothing would change", "give --set NAME=VALUE or --params FILE")
	}
	instruction, err := ix.MarketProposeParams(ix.MarketProposeParamsArgs{Authority: by, Params: params})
	return s.marketDone("market_propose_params", fmt.Sprintf("proposed; can be applied in %s", market.Seconds(mk.Params.TimelockSecs)), instruction, err)
}

func (s *session) marketApply() error {
	_, mk, _, err := s.begin()
	if err != nil {
		return err
	}
	if err := s.due(mk.PendingEta); err != nil {
		return err
	}
	instruction, err := ix.MarketApplyParams()
	return s.marketDone("market_apply_params", "the proposed parameters are in force", instruction, err)
}

func (s *session) marketPause() error {
	args, err := s.args("orders|awards|orders,awards|none")
	if err != nil {
		return err
	}
	bits, err := governance.ParsePaused(args[0])
	if err != nil {
		return err
	}
	by, err := s.governor()
	if err != nil {
		return err
	}
	if _, err := s.market(); err != nil {
		return err
	}
	instruction, err := ix.MarketPause(ix.MarketPauseArgs{By: by, Paused: bits})
	what := "paused: " + strings.Join(service.PausedNames(bits), ", ")
	if bits == 0 {
		what = "nothing is paused"
	}
	return s.marketDone("market_pause", what, instruction, err)
}

func (s *session) authoritySet() error {
	args, _, by, err := s.govern("SUCCESSOR|none")
	if err != nil {
		return err
	}
	var next solana.PublicKey
	what := "no successor is named"
	if args[0] != "none" {
		if next, err = address(args[0], "wallet"); err != nil {
			return err
		}
		what = fmt.Sprintf("%s may now take over with: gantry market authority accept", next)
	}
	instruction, err := ix.MarketSetAuthority(ix.MarketSetAuthorityArgs{Authority: by, Successor: next})
	return s.marketDone("market_set_authority", what, instruction, err)
}

func (s *session) rolesPropose() error {
	_, mk, by, err := s.govern()
	if err != nil {
		return err
	}
	guardian, err := s.keyFlag("guardian", mk.Guardian)
	if err != nil {
		return err
	}
	treasury, err := s.keyFlag("treasury", mk.Treasury)
	if err != nil {
		return err
	}
	if guardian == mk.Guardian && treasury == mk.Treasury && mk.PendingRolesEta == 0 {
		return usage("nothing would change", "give --guardian ADDRESS or --treasury ACCOUNT")
	}
	instruction, err := ix.MarketProposeRoles(ix.MarketProposeRolesArgs{Authority: by, Guardian: guardian, Treasury: treasury})
	return s.marketDone("market_propose_roles", fmt.Sprintf("proposed; can be applied in %s with: gantry market roles apply", market.Seconds(mk.Params.TimelockSecs)), instruction, err)
}

func (s *session) rolesApply() error {
	_, mk, _, err := s.begin()
	if err != nil {
		return err
	}
	if err := s.due(mk.PendingRolesEta); err != nil {
		return err
	}
	instruction, err := ix.MarketApplyRoles()
	return s.marketDone("market_apply_roles", fmt.Sprintf("guardian %s, treasury %s", mk.PendingGuardian, mk.PendingTreasury), instruction, err)
}

func (s *session) authorityAccept() error {
	_, _, by, err := s.govern()
	if err != nil {
		return err
	}
	instruction, err := ix.MarketAcceptAuthority(by)
	return s.marketDone("market_accept_authority", "you are the market's authority", instruction, err)
}

func (s *session) modelApply() error {
	args, _, _, err := s.begin("ID")
	if err != nil {
		return err
	}
	id, err := governance.ModelID(args[0])
	if err != nil {
		return err
	}
	m, err := query.Fetch[market.Model](s.ctx, s.client, market.ModelAddress(id), s.client.WaitLevel())
	if err != nil {
		return err
	}
	if err := s.due(m.PendingEta); err != nil {
		return err
	}
	instruction, err := ix.GpuModelApply(id)
	return s.marketDone("gpu_model_apply", fmt.Sprintf("the proposed terms of %s are in force", m.ModelName()), instruction, err)
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
	if len(args[1]) > 32 {
		return usage("the name has more than 32 bytes", "")
	}
	by, err := s.governor()
	if err != nil {
		return err
	}
	mk, err := s.market()
	if err != nil {
		return err
	}
	a := ix.GpuModelProposeArgs{Authority: by, ID: id, Name: args[1], MinTier: uint8(s.cli.Uint("min-tier"))}
	if err := s.modelTerms(&a, g, &mk.Params); err != nil {
		return err
	}
	instruction, err := ix.GpuModelPropose(a)
	what := fmt.Sprintf("model %d, %s, is proposed; can be applied in %s with: gantry market model apply %d", id, args[1], market.Seconds(mk.Params.TimelockSecs), id)
	return s.marketDone("gpu_model_propose", what, instruction, err)
}

// modelTerms reads the flags of a model; what is not given is taken from its class, where one is named.
func (s *session) modelTerms(a *ix.GpuModelProposeArgs, g *class.GPU, p *market.Params) (err error) {
	price := s.orClass("reference-price", g, func(g *class.GPU) string { return g.Price })
	if a.ReferencePrice, err = market.ParsePrice(price); err != nil {
		return usage("--reference-price: "+err.Error(), "")
	}
	stake := s.cli.String("min-stake")
	if g != nil && !s.cli.IsSet("min-stake") {
		if stake, err = governance.LeastStake(p, price); err != nil {
			return err
		}
	}
	if a.MinStake, err = market.ParseGNT(stake); err != nil {
		return usage("--min-stake: "+err.Error(), "")
	}
	if a.TFLOPSx10, err = governance.ParseTenths(s.orClass("tflops", g, func(g *class.GPU) string { return fmt.Sprint(g.Sheet.FP16TFLOPS) })); err != nil {
		return usage("--tflops: "+err.Error(), "")
	}
	for _, name := range []string{"vram", "min-tier"} {
		if s.cli.Uint(name) > 1<<31 || (name == "min-tier" && s.cli.Uint(name) > 3) {
			return usage("--"+name+" is too large", "")
		}
	}
	a.VRAMMiB = uint32(s.cli.Uint("vram"))
	if g != nil && !s.cli.IsSet("vram") {
		a.VRAMMiB = g.MemoryMiB
	}
	if g != nil && g.Measured != nil {
		a.MinOperations, a.MinBandwidth = g.Measured.Thresholds()
	}
	for name, figure := range map[string]*uint32{"min-tops": &a.MinOperations, "min-bandwidth": &a.MinBandwidth} {
		if g != nil && !s.cli.IsSet(name) {
			continue
		}
		if *figure, err = service.ParseThousandths(s.cli.String(name)); err != nil {
			return usage("--"+name+": "+err.Error(), "")
		}
	}
	profile := s.orClass("profile", g, func(g *class.GPU) string { return market.ProfileText(service.ClassProfile(g)) })
	if a.Profile, err = governance.ParseProfile(profile); err != nil {
		return usage("--profile: "+err.Error(), "")
	}
	return nil
}

// due refuses what is not proposed, or not yet to be applied.
func (s *session) due(eta int64) error {
	now, err := s.now()
	if err != nil {
		return err
	}
	return governance.Due(eta, now)
}

// params applies --params and --set to parameters.
func (s *session) params(p market.Params) (market.Params, error) {
	if path := s.cli.String("params"); path != "" {
		raw, err := os.ReadFile(path)
		if err != nil {
			return p, usage(fmt.Sprintf("--params: %s cannot be read", path), "check the path")
		}
		if err := governance.DecodeParams(raw, &p); err != nil {
			return p, usage(fmt.Sprintf("--params: %s: %v", path, err), "names and values are those of: gantry market show --json")
		}
	}
	return governance.SetParams(p, s.cli.StringSlice("set"))
}
