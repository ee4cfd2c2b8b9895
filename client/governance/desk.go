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

// ProposeParams proposes parameters, which wait for the timelock; those that move in steps also until a week after the last step.
func (d Desk) ProposeParams(params market.Params) (operate.Action, error) {
	if params == d.Market.Params {
		return operate.Action{}, service.Usage("nothing would change", "give --set NAME=VALUE or --params FILE")
	}
	if far := market.TooFar(&params, &d.Market.Params); len(far) > 0 {
		return operate.Action{}, service.Refused(fmt.Sprintf("%s may move by a factor of two at a time", strings.Join(far, ", ")), "propose half or twice of today's value at most: gantry market show")
	}
	did := fmt.Sprintf("proposed; can be applied in %s", market.Seconds(d.Market.Params.TimelockSecs))
	if last := d.Market.SteppedAt; last != 0 && d.Market.Steps(&params) {
		did += fmt.Sprintf(", and a week after the last step, of %s UTC, at the earliest", service.When(last))
	}
	instruction, err := ix.MarketProposeParams(ix.MarketProposeParamsArgs{Authority: d.Key, Params: params})
	return act("market_propose_params", did, instruction, err)
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

// Roles are who governs, who may pause, and where the treasury's share goes: a token account of the payment mint.
type Roles struct{ Authority, Guardian, Treasury solana.PublicKey }

// Roles are those of today.
func (d Desk) Roles() Roles {
	return Roles{Authority: d.Market.Authority, Guardian: d.Market.Guardian, Treasury: d.Market.Treasury}
}

// ProposeRoles proposes roles, which wait for the timelock. Another proposal takes this one back.
func (d Desk) ProposeRoles(r Roles) (operate.Action, error) {
	if r == d.Roles() && d.Market.PendingRolesEta == 0 {
		return operate.Action{}, service.Usage("nothing would change", "give --authority ADDRESS, --guardian ADDRESS or --treasury ACCOUNT")
	}
	did := fmt.Sprintf("proposed; can be applied in %s with: gantry market roles apply", market.Seconds(d.Market.Params.TimelockSecs))
	if r.Authority != d.Market.Authority {
		did += fmt.Sprintf(", by %s", r.Authority)
	}
	instruction, err := ix.MarketProposeRoles(ix.MarketProposeRolesArgs{Authority: d.Key, Next: r.Authority, Guardian: r.Guardian, Treasury: r.Treasury})
	return act("market_propose_roles", did, instruction, err)
}

// ApplyRoles puts the proposed roles in place. Another authority does it itself; else anyone may.
func (d Desk) ApplyRoles(ctx context.Context) (operate.Action, error) {
	mk := &d.Market
	if err := d.due(ctx, mk.PendingRolesEta); err != nil {
		return operate.Action{}, err
	}
	did := fmt.Sprintf("guardian %s, treasury %s", mk.PendingGuardian, mk.PendingTreasury)
	if next := mk.PendingAuthority; next != mk.Authority {
		if next != d.Key {
			return operate.Action{}, service.Refused(fmt.Sprintf("%s is the next authority, and takes over itself; you are %s", next, d.Key),
				"with the key of the next authority: gantry market roles apply; for a vault, add: --as-vault VAULT")
		}
		did = "you are the market's authority, " + did
	}
	instruction, err := ix.MarketApplyRoles(d.Key)
	return act("market_apply_roles", did, instruction, err)
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
	if d.Market.Params.AllowSimulated == 0 {
		did += ", and a week after its last change at the earliest"
	}
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
