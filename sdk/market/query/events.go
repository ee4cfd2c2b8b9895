package query

import (
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// Events reads the market's events from a transaction as a node shows it: none of one that failed. Error:
// chain.ErrUnreadable where the node shows less than what the market's program did. Then nothing is known of its effects,
// and nothing follows from an event that is missing.
func Events(l *chain.Landed) ([]market.Event, error) {
	if l.Err != nil {
		return nil, nil
	}
	events, err := market.Events(calls(l), l.Logs)
	if err != nil {
		return nil, fmt.Errorf("transaction %s: %w: %w", l.Signature, chain.ErrUnreadable, err)
	}
	return events, nil
}

// calls are the instructions of the market's program.
func calls(l *chain.Landed) market.Calls {
	out := market.Calls{Whole: l.Inner != nil || !slices.Contains(l.Keys, market.ProgramID)}
	add := func(in solana.CompiledInstruction, inner bool) {
		if l.Key(in.ProgramIDIndex) == market.ProgramID {
			out.List = append(out.List, market.Call{Data: in.Data, Inner: inner})
		}
	}
	for i, in := range l.Tx.Message.Instructions {
		add(in, false)
		for _, made := range l.Inner[i] {
			add(made, true)
		}
	}
	return out
}
