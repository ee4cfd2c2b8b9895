package service

import (
	"context"
	"fmt"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Model is a GPU model.
type Model struct {
	ID        uint16 `json:"id"`
	Name      string `json:"name"`
	VRAMMiB   uint32 `json:"vramMib"`
	TFLOPS    string `json:"tflops"`
	MinStake  string `json:"minStake"`
	Reference string `json:"referencePrice"`
	// MinOperations and MinBandwidth are what a GPU of the class is to reach, 10⁹ int8 operations and 10⁶ bytes of memory a
	// second; 0 while that is not calibrated on hardware.
	MinOperations uint32 `json:"minGigaOperations"`
	MinBandwidth  uint32 `json:"minMegabytesPerSecond"`
	MinTier       uint8  `json:"minTier"`
	// Profile is what its GPUs are measured by, PreviousProfile what they were measured by before that was changed last.
	Profile         string `json:"profile"`
	PreviousProfile string `json:"previousProfile,omitempty"`
	// Since is 0 before the model's first terms are in force.
	Since      int64       `json:"since"`
	PendingEta int64       `json:"pendingEta,omitempty"`
	Pending    *ModelTerms `json:"pending,omitempty"`
}

// ModelTerms is what is proposed for a model.
type ModelTerms struct {
	MinStake      string `json:"minStake"`
	Reference     string `json:"referencePrice"`
	MinOperations uint32 `json:"minGigaOperations"`
	MinBandwidth  uint32 `json:"minMegabytesPerSecond"`
	MinTier       uint8  `json:"minTier"`
	Profile       string `json:"profile"`
}

func modelOf(m *market.Model) Model {
	out := Model{
		ID: m.Id, Name: m.ModelName(), VRAMMiB: m.VramMib, TFLOPS: fmt.Sprintf("%d.%d", m.TflopsX10/10, m.TflopsX10%10),
		MinStake: market.GNT(m.MinStake).String(), Reference: market.PricePerHour(m.ReferencePrice).String(),
		MinOperations: m.MinOperations, MinBandwidth: m.MinBandwidth, MinTier: m.MinTier, Since: m.Since, Profile: market.ProfileText(m.Profile),
	}
	if m.PreviousProfile != m.Profile && m.Since != 0 {
		out.PreviousProfile = market.ProfileText(m.PreviousProfile)
	}
	if p := m.Pending; m.PendingEta != 0 {
		out.PendingEta = m.PendingEta
		out.Pending = &ModelTerms{
			market.GNT(p.MinStake).String(), market.PricePerHour(p.ReferencePrice).String(), p.MinOperations, p.MinBandwidth, p.MinTier, market.ProfileText(p.Profile),
		}
	}
	return out
}

// Market is the market: who governs it, its parameters and models, and what must hold between them.
type Market struct {
	Program     string         `json:"program"`
	Address     string         `json:"address"`
	Authority   string         `json:"authority"`
	Guardian    string         `json:"guardian"`
	PaymentMint string         `json:"paymentMint"`
	StakeMint   string         `json:"stakeMint"`
	Treasury    string         `json:"treasury"`
	FeeVault    string         `json:"feeVault"`
	Fees        string         `json:"sweptFees"`
	Paused      []string       `json:"paused"`
	Keepers     uint32         `json:"keepers"`
	Weight      string         `json:"totalWeight"`
	Params      market.Params  `json:"params"`
	PendingEta  int64          `json:"pendingEta,omitempty"`
	PendingPars *market.Params `json:"pendingParams,omitempty"`
	RolesEta    int64          `json:"pendingRolesEta,omitempty"`
	NextAuth    string         `json:"pendingAuthority,omitempty"`
	NextGuard   string         `json:"pendingGuardian,omitempty"`
	NextTreas   string         `json:"pendingTreasury,omitempty"`
	Models      []Model        `json:"models"`
	Relations   []Relation     `json:"relations"`
}

// Relation is a relation between parameters.
type Relation struct {
	Name       string `json:"name"`
	Holds      bool   `json:"holds"`
	Figures    string `json:"figures"`
	Assumption string `json:"assumption"`
	Enforced   bool   `json:"enforced"`
}

func relationsOf(all []market.Relation) []Relation {
	out := make([]Relation, len(all))
	for i, r := range all {
		out[i] = Relation(r)
	}
	return out
}

// Market describes the market as it is now.
func (s *Service) Market(ctx context.Context) (Market, error) {
	if l := s.live.Load(); l != nil {
		return l.market.get(ctx)
	}
	return s.readMarket(ctx)
}

func (s *Service) readMarket(ctx context.Context) (Market, error) {
	mk, err := s.Load(ctx)
	if err != nil {
		return Market{}, err
	}
	v, err := s.Snapshot(ctx, view.Only(view.Kinds(market.KindModel)))
	if err != nil {
		return Market{}, err
	}
	fees, err := s.TokenBalance(ctx, mk.FeeVault)
	if err != nil {
		return Market{}, err
	}
	out := Market{
		Program: market.ProgramID.String(), Address: mk.Address.String(), Authority: mk.Authority.String(), Guardian: mk.Guardian.String(),
		PaymentMint: mk.PaymentMint.String(), StakeMint: mk.StakeMint.String(), Treasury: mk.Treasury.String(), FeeVault: mk.FeeVault.String(),
		Fees: market.USDC(fees).String(), Paused: PausedNames(mk.Paused), Keepers: mk.KeeperCount, Weight: market.GNT(mk.TotalWeight).String(),
		Params: mk.Params, Models: []Model{},
	}
	if mk.PendingEta != 0 {
		out.PendingEta, out.PendingPars = mk.PendingEta, &mk.PendingParams
	}
	if mk.PendingRolesEta != 0 {
		out.RolesEta, out.NextAuth = mk.PendingRolesEta, mk.PendingAuthority.String()
		out.NextGuard, out.NextTreas = mk.PendingGuardian.String(), mk.PendingTreasury.String()
	}
	out.Relations = relationsOf(market.Relations(&mk.Params))
	for _, m := range v.Models() {
		out.Models = append(out.Models, modelOf(&m))
		out.Relations = append(out.Relations, relationsOf(market.ModelRelations(&mk.Params, &m))...)
	}
	return out, nil
}

// PausedNames names what a market has paused.
func PausedNames(bits uint8) []string {
	out := []string{}
	if bits&market.PauseOrders != 0 {
		out = append(out, "orders")
	}
	if bits&market.PauseAwards != 0 {
		out = append(out, "awards")
	}
	return out
}
