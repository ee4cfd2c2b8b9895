package ix

import (
	"testing"

	"github.com/gantry-market/gantry/sdk/market"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
)

func TestInstructionsWithoutArgumentsHaveTheirDiscriminator(t *testing.T) {
	for name, c := range map[string]struct {
		want  [8]byte
		build func() (solana.Instruction, error)
	}{
		"market_apply_params": {bindings.Instruction_MarketApplyParams, MarketApplyParams},
		"keeper_suspend":      {bindings.Instruction_KeeperSuspend, func() (solana.Instruction, error) { return KeeperSuspend(solana.PublicKey{1}) }},
		"keeper_activate":     {bindings.Instruction_KeeperActivate, func() (solana.Instruction, error) { return KeeperActivate(solana.PublicKey{1}) }},
		"lease_close":         {bindings.Instruction_LeaseClose, func() (solana.Instruction, error) { return LeaseClose(LeaseCloseArgs{}) }},
		"slash_apply":         {bindings.Instruction_SlashApply, func() (solana.Instruction, error) { return SlashApply(SlashApplyArgs{}) }},
		"slash_compensate":    {bindings.Instruction_SlashCompensate, func() (solana.Instruction, error) { return SlashCompensate(SlashCompensateArgs{}) }},
		"slash_close": {
			bindings.Instruction_SlashClose, func() (solana.Instruction, error) { return SlashClose(market.Fault{}, solana.PublicKey{1}) },
		},
	} {
		ix, err := c.build()
		require.NoError(t, err, name)
		data, err := ix.Data()
		require.NoError(t, err)
		require.Equal(t, c.want[:], data, name)
	}
}

func TestOptionalAccountsAreTheProgramAndNotWritable(t *testing.T) {
	ix, err := SlashApply(SlashApplyArgs{Fault: market.Fault{}})
	require.NoError(t, err)
	n := 0
	for _, a := range ix.Accounts() {
		if a.PublicKey == market.ProgramID {
			require.False(t, a.IsWritable || a.IsSigner)
			n++
		}
	}
	require.Equal(t, 1, n) // no lease
}

func TestArgumentsThatCannotBeBuilt(t *testing.T) {
	_, err := NodeRegister(NodeRegisterArgs{Spec: market.NodeSpec{Gpus: 2}, Devices: make([][32]byte, 1)})
	require.ErrorIs(t, err, ErrInstruction)
	_, err = KeeperUpdate(KeeperUpdateArgs{Multiaddr: "localhost"})
	require.ErrorIs(t, err, ErrInstruction)
	_, err = VerifySignature(solana.PublicKey{}, solana.Signature{}, make([]byte, solana.MaxTransactionSizeV1+1))
	require.ErrorIs(t, err, ErrInstruction)
	lease := market.Lease{Meta: market.Meta{Address: solana.PublicKey{1}}}
	_, err = LeaseSettleReceipt(LeaseSettleReceiptArgs{Lease: lease})
	require.ErrorIs(t, err, ErrInstruction)
	_, err = LeaseSettleReceipt(LeaseSettleReceiptArgs{Lease: lease, Receipt: market.LeaseReceipt(lease, 1, 1)})
	require.ErrorIs(t, err, ErrInstruction)
}

func TestAConvictedNodeIsMendedBeforeItRetires(t *testing.T) {
	n := market.Node{Meta: market.Meta{Address: solana.PublicKey{1}}}
	n.Price = 1_310_000
	for convicted, want := range []int{1, 2} {
		n.Convicted = uint8(convicted)
		got, err := NodeRetire(NodeRetireArgs{Wallet: solana.PublicKey{2}, Node: n})
		require.NoError(t, err)
		require.Len(t, got, want)
		data, err := got[want-1].Data()
		require.NoError(t, err)
		require.Equal(t, bindings.Instruction_NodeRetire[:], data[:8])
	}
}
