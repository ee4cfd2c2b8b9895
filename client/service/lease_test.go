package service

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
)

// Nobody reads that a lease was served and paid when its machine has failed and nothing is paid.
func TestWhatIsPaidIsSaidAsItIs(t *testing.T) {
	for want, l := range map[string]Lease{
		"the machine failed: 0 s of the lease are paid so far, 0.00 USDC; what is not used comes back when the lease is closed": {
			EndReason: market.EndedFailed.String(), Paid: "0.00",
		},
		"7 s of the lease are paid so far, 0.01 USDC": {PaidSecs: 7, Paid: "0.01"},
		"7 s of the lease are paid so far, 0.01 USDC; receipts and reports may still add seconds in which the machine served it": {
			EndReason: market.EndedJobDone.String(), PaidSecs: 7, Paid: "0.01",
		},
	} {
		require.Equal(t, want, l.Billed())
	}
}
