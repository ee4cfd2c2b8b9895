package buy

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

func TestWhatACustomerSigns(t *testing.T) {
	node, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	l := market.Lease{Meta: market.Meta{Address: solana.PublicKey{1}}}
	l.NodeKey, l.StartedAt, l.FundedUntil, l.Status = node.PublicKey(), 1_000, 2_000, uint8(market.LeaseRunning)
	l.ReceiptSequence, l.ReceiptSecs = 3, 40
	offer := func(sequence, seconds uint64, change ...func(*messages.Receipt)) messages.Receipt {
		sig, err := market.LeaseReceipt(l, sequence, seconds).Sign(node)
		require.NoError(t, err)
		r := messages.Receipt{Lease: l.Address, StartedAt: l.StartedAt, Sequence: sequence, Seconds: seconds, NodeSignature: sig}
		for _, f := range change {
			f(&r)
		}
		return r
	}
	const now = 1_100
	r, err := checkReceipt(l, offer(4, 99), now)
	require.NoError(t, err)
	require.Equal(t, market.LeaseReceipt(l, 4, 99), r)
	for name, c := range map[string]struct {
		offer messages.Receipt
		text  string
	}{
		"more than has passed": {offer(4, 103), "at most 102 s have passed"},
		"settled before":       {offer(4, 40), "40 s are settled"},
		"old sequence":         {offer(3, 99), "40 s are settled"},
		"another lease":        {offer(4, 99, func(r *messages.Receipt) { r.Lease = [32]byte{2} }), "another lease"},
		"another life":         {offer(4, 99, func(r *messages.Receipt) { r.StartedAt++ }), "another lease"},
		"signed for less":      {offer(4, 50, func(r *messages.Receipt) { r.Seconds = 60 }), records.ErrSignature.Error()},
		"refused":              {messages.Receipt{Refused: "busy"}, "busy"},
	} {
		_, err := checkReceipt(l, c.offer, now)
		require.ErrorContains(t, err, c.text, name)
	}
}
