package governance

import (
	"context"
	"fmt"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// Desk builds the transactions of a market's governance, which its key sends: of the authority, of its guardian, or of anyone
// where only time has to pass. Its errors are service.Failure where a transaction would be refused, and those of the chain.
type Desk struct{ *operate.Desk }

// act is an action about the market.
func act(kind, did string, instruction solana.Instruction, err error, before ...solana.Instruction) (operate.Action, error) {
	return operate.NewAction(kind, market.MarketAddress(), did, instruction, err, before...)
}

// Founding is what a market begins with. Treasury is a token account of the payment mint.
type Founding struct {
	PaymentMint, StakeMint, Guardian, Treasury solana.PublicKey
	Params                                     market.Params
}

// Init creates the market; its key is the program's upgrade authority.
func (d Desk) Init(ctx context.Context, f Founding) (operate.Action, error) {
	domain, err := d.Client.Domain(ctx)
	if err != nil {
		return operate.Action{}, err
	}
	accounts, err := d.Client.Accounts(ctx, []solana.PublicKey{market.ProgramID, market.MarketAddress()}, d.Client.WaitLevel())
	if err != nil {
		return operate.Action{}, err
	}
	switch {
	case accounts[0] == nil || !accounts[0].Executable:
		return operate.Action{}, service.Network(fmt.Sprintf("the market program %s is not deployed on this cluster", market.ProgramID), "check --url", market.ErrProgramMissing)
	case accounts[1] != nil:
		return operate.Action{}, service.Refused("the market exists already", "see: gantry market show")
	}
	instruction, err := ix.MarketInit(ix.MarketInitArgs{
		Authority: d.Key, Guardian: f.Guardian, PaymentMint: f.PaymentMint, StakeMint: f.StakeMint, Treasury: f.Treasury, Domain: domain, Params: f.Params,
	})
	var before []solana.Instruction
	if f.Treasury == market.TokenAddress(d.Key, f.PaymentMint) { // it need not be there yet
		before = append(before, ix.CreateTokenAccount(d.Key, d.Key, f.PaymentMint))
	}
	return act("market_init", "market created", instruction, err, before...)
}

// ProposeParams proposes parameters, which wait for the timelock.
func (d Desk) ProposeParams(params market.Params) (operate.Action, error) {
	if params == d.Market.Params {
		return operate.Action{}, service.Usage("nothing would change", "give --set NAME=VALUE or --params FILE")
	}
	instruction, err := ix.MarketProposeParams(ix.MarketProposeParamsArgs{Authority: d.Key, Params: params})
	return act("market_propose_params", fmt.Sprintf("proposed; can be applied in %s", market.Seconds(d.Market.Params.TimelockSecs)), instruction, err)
}

// ApplyParams puts the proposed parameters into force; anyone may.
func (d Desk) ApplyParams(ctx context.Context) (operate.Action, error) {
	if err := d.due(ctx, d.Market.PendingEta); err != nil {
		return operate.Action{}, err
	}
	instruction, err := ix.MarketApplyParams()
	return act("market_apply_params", "the proposed parameters are in force", instruction, err)
}

// Pause stops new orders or awards, as bits of market.PauseOrders and market.PauseAwards; 0 lets all go on.
func (d Desk) Pause(bits uint8) (operate.Action, error) {
	did := "paused: " + strings.Join(service.PausedNames(bits), ", ")
	if bits == 0 {
		did = "nothing is paused"
	}
	instruction, err := ix.MarketPause(ix.MarketPauseArgs{By: d.Key, Paused: bits})
	return act("market_pause", did, instruction, err)
}

// NameSuccessor names the next authority; zero for none.
func (d Desk) NameSuccessor(next solana.PublicKey) (operate.Action, error) {
	did := "no successor is named"
	if !next.IsZero() {
		did = fmt.Sprintf("%s may now take over with: gantry market authority accept", next)
	}
	instruction, err := ix.MarketSetAuthority(ix.MarketSetAuthorityArgs{Authority: d.Key, Successor: next})
	return act("market_set_authority", did, instruction, err)
}

// Accept has the named successor take over.
func (d Desk) Accept() (operate.Action, error) {
	if next := d.Market.PendingAuthority; next != d.Key {
		named := "the market's authority has named no successor"
		if !next.IsZero() {
			named = fmt.Sprintf("the market's authority has named %s", next)
		}
		return operate.Action{}, service.Refused(fmt.Sprintf("%s, not %s", named, d.Key), "it names one with: gantry market authority set SUCCESSOR")
	}
	instruction, err := ix.MarketAcceptAuthority(d.Key)
	return act("market_accept_authority", "you are the market's authority", instruction, err)
}

// ProposeRoles proposes a guardian and a treasury, which wait for the timelock.
func (d Desk) ProposeRoles(guardian, treasury solana.PublicKey) (operate.Action, error) {
	if mk := d.Market; guardian == mk.Guardian && treasury == mk.Treasury && mk.PendingRolesEta == 0 {
		return operate.Action{}, service.Usage("nothing would change", "give --guardian ADDRESS or --treasury ACCOUNT")
	}
	did := fmt.Sprintf("proposed; can be applied in %s with: gantry market roles apply", market.Seconds(d.Market.Params.TimelockSecs))
	instruction, err := ix.MarketProposeRoles(ix.MarketProposeRolesArgs{Authority: d.Key, Guardian: guardian, Treasury: treasury})
	return act("market_propose_roles", did, instruction, err)
}

// ApplyRoles puts the proposed guardian and treasury in place; anyone may.
func (d Desk) ApplyRoles(ctx context.Context) (operate.Action, error) {
	if err := d.due(ctx, d.Market.PendingRolesEta); err != nil {
		return operate.Action{}, err
	}
	instruction, err := ix.MarketApplyRoles()
	return act("market_apply_roles", fmt.Sprintf("guardian %s, treasury %s", d.Market.PendingGuardian, d.Market.PendingTreasury), instruction, err)
}

// Model is what is proposed of a GPU model. Its authority is the desk's key.
type Model = ix.GpuModelProposeArgs

// ProposeModel proposes a GPU model, or other terms for one, which wait for the timelock.
func (d Desk) ProposeModel(m Model) (operate.Action, error) {
	if len(m.Name) > market.MaxModelName {
		return operate.Action{}, service.Usage(fmt.Sprintf("the name has more than %d bytes", market.MaxModelName), "")
	}
	m.Authority = d.Key
	did := fmt.Sprintf("model %d, %s, is proposed; can be applied in %s with: gantry market model apply %d", m.ID, m.Name, market.Seconds(d.Market.Params.TimelockSecs), m.ID)
	instruction, err := ix.GpuModelPropose(m)
	return act("gpu_model_propose", did, instruction, err)
}

// ApplyModel puts a model's proposed terms into force; anyone may.
func (d Desk) ApplyModel(ctx context.Context, id uint16) (operate.Action, error) {
	m, err := query.Fetch[market.Model](ctx, d.Client, market.ModelAddress(id), d.Client.WaitLevel())
	if err != nil {
		return operate.Action{}, err
	}
	if err := d.due(ctx, m.PendingEta); err != nil {
		return operate.Action{}, err
	}
	instruction, err := ix.GpuModelApply(id)
	return act("gpu_model_apply", fmt.Sprintf("the proposed terms of %s are in force", m.ModelName()), instruction, err)
}

// due refuses what is not proposed, or not yet to be applied.
func (d Desk) due(ctx context.Context, eta int64) error {
	now, err := d.Client.Now(ctx)
	if err != nil {
		return err
	}
	return Due(eta, now)
}
