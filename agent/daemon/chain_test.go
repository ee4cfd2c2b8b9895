package daemon

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"testing"

	bin "github.com/gagliardetto/binary"
	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

var (
	chainNode  = solana.PublicKey{1, 1}
	chainLease = solana.PublicKey{2, 2}
)

// leaseData is a running lease of a node as the chain holds it.
func leaseData(t *testing.T, node solana.PublicKey, awardedAt int64) []byte {
	t.Helper()
	l := bindings.Lease{Node: node, AwardedAt: awardedAt, Status: uint8(market.LeaseRunning), Version: market.LayoutVersion}
	var b bytes.Buffer
	b.Write(bindings.Account_Lease[:])
	require.NoError(t, l.MarshalWithEncoder(bin.NewBorshEncoder(&b)))
	return b.Bytes()
}

// leaseChain is an agent's chain over an endpoint that shows one account at each commitment; nil for none.
func leaseChain(t *testing.T, confirmed, finalized []byte, finalSlot uint64) *nodeChain {
	t.Helper()
	s := fakerpc.New(t)
	s.Handle("getMultipleAccounts", func(p []json.RawMessage) (any, *fakerpc.Error) {
		var conf struct {
			Commitment string `json:"commitment"`
			Min        uint64 `json:"minContextSlot"`
		}
		_ = json.Unmarshal(p[1], &conf)
		slot, data := uint64(100), confirmed
		if conf.Commitment == "finalized" {
			slot, data = finalSlot, finalized
		}
		if conf.Min > slot {
			return nil, &fakerpc.Error{Code: chain.CodeSlotNotReached, Message: "Minimum context slot has not been reached"}
		}
		var account any
		if data != nil {
			account = map[string]any{"lamports": 1, "owner": market.ProgramID, "executable": false, "data": []string{base64.StdEncoding.EncodeToString(data), "base64"}}
		}
		return map[string]any{"context": map[string]any{"slot": slot}, "value": []any{account}}, nil
	})
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: s.URL() + "/a-secret", WS: s.WS()}}, Commitment: chain.Confirmed})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return &nodeChain{view: view.New(view.Options{}), client: c, node: chainNode}
}

// A lease is gone when its account is gone, or is of a later lease, finally and at a slot that is no older than when it
// was seen. An account that cannot be read says nothing.
func TestALeaseIsGoneFinally(t *testing.T) {
	const awarded, seen = 1000, 50
	here, later, other := leaseData(t, chainNode, awarded), leaseData(t, chainNode, awarded+1), leaseData(t, solana.PublicKey{9}, awarded+1)
	broken := append(bytes.Clone(here[:8]), 1, 2, 3)
	for name, c := range map[string]struct {
		confirmed, finalized []byte
		final                uint64
		want                 lease.Presence
		fails                bool
	}{
		"there":                         {here, here, 80, lease.There, false},
		"gone, not finally":             {nil, here, 80, lease.Leaving, false},
		"gone, finality lags":           {nil, nil, 40, lease.Leaving, false},
		"gone":                          {nil, nil, 80, lease.Gone, false},
		"a later lease":                 {later, later, 80, lease.Gone, false},
		"a later lease of another node": {other, other, 80, lease.Gone, false},
		"a later lease, not finally":    {later, here, 80, lease.Leaving, false},
		"an account of another layout":  {broken, broken, 80, lease.There, true},
	} {
		t.Run(name, func(t *testing.T) {
			c, want, fails := leaseChain(t, c.confirmed, c.finalized, c.final), c.want, c.fails
			is, since, err := c.Gone(t.Context(), chainLease, awarded, seen)
			require.Equal(t, fails, err != nil, err)
			require.Equal(t, want, is)
			if want == lease.Leaving {
				require.EqualValues(t, seen, since, "the next question is about the same")
			}
			shown, ok := c.Lease(chainLease)
			require.Equal(t, want == lease.There && !fails, ok && shown.AwardedAt == awarded, "what is there is shown from then on")
		})
	}
}

// What goes on is read finally, and the endpoint's name holds no secret.
func TestALeaseIsReadFinally(t *testing.T) {
	c := leaseChain(t, nil, leaseData(t, chainNode, 7), 80)
	l, err := c.Final(t.Context(), chainLease, 60)
	require.NoError(t, err)
	require.EqualValues(t, 7, l.AwardedAt)
	_, err = c.Final(t.Context(), chainLease, 90)
	require.True(t, chain.IsCode(err, chain.CodeSlotNotReached))
	_, err = leaseChain(t, nil, leaseData(t, solana.PublicKey{9}, 7), 80).Final(t.Context(), chainLease, 60)
	require.ErrorIs(t, err, chain.ErrAccountNotFound)
	require.NotContains(t, c.Source(), "secret")
}
