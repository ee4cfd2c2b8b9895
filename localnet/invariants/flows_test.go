package invariants_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/invariants"
)

// All that comes into the vault of fees is counted, whichever instruction takes it.
func TestFlowsIntoTheVaultOfFees(t *testing.T) {
	for name, event := range map[string]any{
		"fee and work that lost":  &bindings.LeaseClosed{Fee: 3, Lost: 4},
		"a machine that declined": &bindings.LeaseDeclined{Charged: 7},
		"a rejected dispute":      &bindings.DisputeResolved{ToBuyBack: 7},
	} {
		h := invariants.History{Transactions: []invariants.Transaction{{Events: []any{event}}}}
		require.EqualValues(t, 7, h.Flows().Fees, name)
	}
}
