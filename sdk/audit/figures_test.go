package audit

import (
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/records"
)

// What made a node slow is found again in its transactions: shares of the terms that it knew at the time, of each applied
// period once, since it was found slow last.
func TestFiguresAreFoundAgain(t *testing.T) {
	node, secs := solana.PublicKey{1}, int64(60)
	at := func(slot int, events ...any) Tx {
		x := Tx{Slot: uint64(slot), Time: time.Unix(int64(slot)*secs, 0)}
		for _, e := range events {
			x.Events = append(x.Events, market.Event{Value: e})
		}
		return x
	}
	n := measuredNode{of: node, secs: secs, seen: map[records.Period]bool{}, read: func(model uint16) ([]Tx, error) {
		require.EqualValues(t, 7, model)
		return []Tx{
			at(1, &bindings.GpuModelProposed{Id: 7, MinOperations: 100, MinBandwidth: 10}, &bindings.GpuModelProposed{Id: 8, MinOperations: 5}),
			at(2, &bindings.GpuModelApplied{Id: 8}, &bindings.GpuModelApplied{Id: 7}),
			at(90, &bindings.GpuModelProposed{Id: 7, MinOperations: 200}, &bindings.GpuModelApplied{Id: 7}), // after the registration
		}, nil
	}}
	take := func(x Tx) { require.NoError(t, n.take(x)) }
	applied := func(period records.Period, operations uint32) Tx {
		x := at(int(period)+1, &bindings.NodeUpdated{})
		p := ix.LeafProof{Leaf: records.Leaf{Node: node, Period: period, Operations: operations, Bandwidth: 10}}
		if operations == 0 {
			p.Leaf.Bandwidth = 0
		}
		apply, err := ix.ReportApply(p)
		require.NoError(t, err)
		data, err := apply.Data()
		require.NoError(t, err)
		x.Instructions = []Instruction{{Program: market.ProgramID, Data: data}}
		return x
	}
	take(at(10, &bindings.NodeRegistered{Node: node, Model: 7}))
	require.Equal(t, classTerms{100, 10}, n.terms)
	take(applied(9, 1)) // began before the node was registered
	require.Empty(t, n.row)
	for i := range records.Period(5) {
		take(applied(10+i, 60))
		take(applied(10+i, 90)) // the leaf of a lease, after the node's
	}
	take(applied(15, 0))
	require.Equal(t, []uint16{6_000, 6_000, 6_000, 6_000, 6_000}, n.row)
	last := applied(16, 50)
	last.Events = append(last.Events, market.Event{Value: &bindings.FaultOpened{Node: node, Flags: uint16(records.FlagSlow)}})
	take(last)
	require.Equal(t, []uint16{5_000, 6_000, 6_000, 6_000, 6_000, 6_000}, n.found)
	require.Empty(t, n.row)
	take(applied(17, 60))
	take(at(18, &bindings.TermsAccepted{Node: node, MinOperations: 200, MinBandwidth: 10}))
	require.Empty(t, n.row, "of other terms")
	take(applied(18, 60))
	require.Equal(t, []uint16{3_000}, n.row)
}
