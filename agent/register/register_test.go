package register

import (
	"encoding/binary"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/txm"
)

// The commands as a whole are tested against a real node in agent/e2e; here is what they say before anything is sent.
func TestCheck(t *testing.T) {
	c := &Planner{o: PlanOptions{Wallet: solana.PublicKey{1}}}
	join := Join{Price: 1_000_000, Stake: 300 * market.OneGNT}
	join.Model.MinStake, join.Spec.Gpus = uint64(100*market.OneGNT), 2
	rich := Needs{
		StakeNeeded: 300 * market.OneGNT, StakeMissing: 200 * market.OneGNT, Rent: chain.SOL / 100, NodeFunds: NodeFunds,
		SOL: chain.SOL, Tokens: 200 * market.OneGNT,
	}
	require.NoError(t, c.Check(rich, join))
	for name, tc := range map[string]struct {
		change func(*Needs, *Join)
		is     error
		says   string
	}{
		"price":       {func(_ *Needs, j *Join) { j.Price = 0 }, market.ErrAmount, "--price 1.26"},
		"stake":       {func(_ *Needs, j *Join) { j.Stake = 299 * market.OneGNT }, ErrStakeTooLow, "use --stake 300"},
		"SOL":         {func(n *Needs, _ *Join) { n.SOL = n.Total() - 1 }, ErrNoSOL, "0.0602 SOL"},
		"tokens":      {func(n *Needs, _ *Join) { n.Tokens-- }, ErrNoStake, "send 0.000000001 GNT"},
		"all is poor": {func(n *Needs, _ *Join) { n.SOL, n.Tokens = 0, 0 }, ErrNoSOL, "of which 0.01 SOL rent comes back"},
	} {
		n, j := rich, join
		tc.change(&n, &j)
		err := c.Check(n, j)
		require.ErrorIs(t, err, tc.is, name)
		require.Contains(t, err.Error(), tc.says, name)
		require.NotContains(t, err.Error(), "\n")
	}
	done := Needs{IsNode: true, SOL: chain.SOL}
	require.NoError(t, c.Check(done, Join{}), "what is registered already needs no price")
}

func TestTokenAmount(t *testing.T) {
	data := make([]byte, 165)
	binary.LittleEndian.PutUint64(data[64:], 1<<63+5)
	require.EqualValues(t, uint64(1<<63+5), tokenAmount(data))
	require.Zero(t, tokenAmount(data[:71]))
	require.Zero(t, tokenAmount(nil))
}

func TestNewNeedsEveryDependency(t *testing.T) {
	complete := Options{PlanOptions: PlanOptions{Chain: &chain.Client{}, NodeKey: solana.PublicKey{1}}, Txm: &txm.Manager{}}
	_, err := New(complete)
	require.NoError(t, err)
	for name, remove := range map[string]func(*Options){
		"chain":               func(o *Options) { o.Chain = nil },
		"node key":            func(o *Options) { o.NodeKey = solana.PublicKey{} },
		"transaction manager": func(o *Options) { o.Txm = nil },
	} {
		o := complete
		remove(&o)
		_, err := New(o)
		require.ErrorContains(t, err, "required", name)
	}
}
