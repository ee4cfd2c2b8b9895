package verify

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/dispute"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
)

func TestDescribeDispute(t *testing.T) {
	k := market.Keeper{}
	k.Index, k.Wallet = 9, solana.PublicKey{7}
	d := market.Dispute{}
	d.Kind, d.Deposit, d.OpenedAt, d.ClosesAt, d.TotalWeight = uint8(market.DisputeBadOutput), 5_000_000, 40, 160, 3_000_000_000
	d.RejectedVoters[1], d.RejectedWeight = 0b11, 1_000_000_000
	d.QuorumBps = 6_667
	for _, c := range []struct {
		upheld, rejected uint64
		now              int64
		verdict, next    string
		left             int64
	}{
		{0, 1_000_000_000, 100, "no quorum yet", "66.67 % of the weight on one side decides; undecided it ends in 1m0s", 60},
		{0, 1_000_000_000, 160, "no quorum yet", "its time is over", 0},
		{0, 1_000_000_000, 200, "no quorum yet", "its time is over", 0},
		{2_100_000_000, 0, 100, "upheld", "the deposit is free then", 60},
		{0, 2_100_000_000, 100, "rejected", "the deposit is lost then", 60},
	} {
		d.UpheldWeight, d.RejectedWeight = c.upheld, c.rejected
		j := dispute.Describe(&d, []market.Keeper{k}, c.now)
		require.Equal(t, c.verdict, j.Verdict)
		require.Contains(t, j.Next(), c.next)
		require.Equal(t, c.left, j.SecondsLeft)
		require.Equal(t, []string{"8", k.Wallet.String()}, j.RejectedBy)
		require.Equal(t, []string{}, j.UpheldBy)
		require.Equal(t, "5.00", j.Deposit)
		var b bytes.Buffer
		printDispute(terminal.NewPage(&b), &j)
		require.Contains(t, b.String(), fmt.Sprintf("%s of 3 GNT", market.GNT(c.rejected)))
	}
}
