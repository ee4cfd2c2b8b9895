package governance

import (
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

// desk is one of a market that nobody has to be asked about.
func desk() Desk {
	d := &operate.Desk{Key: solana.PublicKey{1}}
	d.Market.Params = market.DefaultParams()
	d.Market.Guardian, d.Market.Treasury = solana.PublicKey{2}, solana.PublicKey{3}
	return Desk{d}
}

// What the key of the desk sends is signed by it, and says what it did.
func TestActionsAreTheKeysOwn(t *testing.T) {
	d := desk()
	params := d.Market.Params
	params.FeeBps++
	pauser, heir := d.Roles(), d.Roles()
	pauser.Guardian, heir.Authority = solana.PublicKey{5}, solana.PublicKey{4}
	for did, build := range map[string]func() (operate.Action, error){
		"proposed; can be applied in":       func() (operate.Action, error) { return d.ProposeParams(params) },
		"paused: orders":                    func() (operate.Action, error) { return d.Pause(market.PauseOrders) },
		"nothing is paused":                 func() (operate.Action, error) { return d.Pause(0) },
		"with: gantry market roles apply":   func() (operate.Action, error) { return d.ProposeRoles(pauser) },
		"by " + heir.Authority.String():     func() (operate.Action, error) { return d.ProposeRoles(heir) },
		"with: gantry market model apply 7": func() (operate.Action, error) { return d.ProposeModel(Model{ID: 7, Name: "H100"}) },
	} {
		a, err := build()
		require.NoError(t, err, did)
		require.Contains(t, a.Did, did)
		require.Len(t, a.Instructions, 1)
		signs := false
		for _, account := range a.Instructions[0].Accounts() {
			signs = signs || account.IsSigner && account.PublicKey == d.Key
		}
		require.True(t, signs, a.Kind)
	}
}

// What would change nothing, or cannot be, is refused before it is sent.
func TestProposalsThatChangeNothing(t *testing.T) {
	d := desk()
	for _, build := range []func() (operate.Action, error){
		func() (operate.Action, error) { return d.ProposeParams(d.Market.Params) },
		func() (operate.Action, error) { return d.ProposeRoles(d.Roles()) },
		func() (operate.Action, error) {
			return d.ProposeModel(Model{ID: 7, Name: strings.Repeat("x", market.MaxModelName+1)})
		},
	} {
		_, err := build()
		var failure *service.Failure
		require.ErrorAs(t, err, &failure)
	}
	d.Market.PendingRolesEta = 1 // the roles of today in place of the proposed ones are a change
	_, err := d.ProposeRoles(d.Roles())
	require.NoError(t, err)
}
