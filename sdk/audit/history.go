package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// Source is where the history comes from. *chain.Client implements it.
type Source interface {
	History(ctx context.Context, key solana.PublicKey, at chain.Commitment, limit int) ([]chain.SignatureInfo, error)
	Transaction(ctx context.Context, sig solana.Signature, at chain.Commitment) (chain.Landed, error)
}

// Tx is a transaction with the market's events in it.
type Tx struct {
	Signature    solana.Signature
	Slot         uint64
	Time         time.Time // zero when the node does not know
	Units        uint64
	Events       []market.Event
	Instructions []Instruction
	// Unreadable says why what it did is not known: then it has no events. It is empty for a transaction that was read.
	// Instructions are those that it has all the same, where the node shows them.
	Unreadable string
	Hidden     bool // whether other programs have called the market is not known
}

// Instruction is an instruction of a transaction: those of its own first, then those of the market that other programs
// made, where the node shows them.
type Instruction struct {
	Program  solana.PublicKey
	Accounts []solana.PublicKey
	Data     []byte
}

// is reports whether the instruction is one of the market's with this discriminator and at least so many accounts.
func (in *Instruction) is(discriminator [8]byte, accounts int) bool {
	return in.Program == market.ProgramID && len(in.Data) >= 8 && [8]byte(in.Data[:8]) == discriminator && len(in.Accounts) >= accounts
}

// parallel is how many transactions are read at the same time.
const parallel = 8

// Read returns the successful transactions that name an account, oldest first.
func Read(ctx context.Context, src Source, key solana.PublicKey, at chain.Commitment) ([]Tx, error) {
	txs, _, err := ReadLast(ctx, src, key, at, 0)
	return txs, err
}

// ReadLast is Read of the last transactions, so many at most, failed ones among them; 0 for all. more says that there may be
// older ones.
func ReadLast(ctx context.Context, src Source, key solana.PublicKey, at chain.Commitment, most int) (txs []Tx, more bool, err error) {
	infos, err := src.History(ctx, key, at, most)
	if err != nil {
		return nil, false, fmt.Errorf("history of %s: %w", key, err)
	}
	more = most > 0 && len(infos) >= most
	slices.Reverse(infos)
	infos = slices.DeleteFunc(infos, func(i chain.SignatureInfo) bool { return i.Err != nil })
	out := make([]Tx, len(infos))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, info := range infos {
		g.Go(func() error {
			var err error
			out[i], err = readOne(gctx, src, &info, at)
			if err == nil || !errors.Is(err, chain.ErrUnreadable) && !errors.Is(err, chain.ErrNotFound) {
				return err
			}
			// Left out, it would be hidden; as an error, it would hide all the others.
			out[i].Signature, out[i].Slot, out[i].Unreadable = info.Signature, info.Slot, err.Error()
			if info.BlockTime != nil {
				out[i].Time = time.Unix(*info.BlockTime, 0).UTC()
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, false, fmt.Errorf("history of %s: %w", key, err)
	}
	// Nodes list a slot's transactions in an order of their own; the sort is stable, so that theirs stays within a
	// slot.
	slices.SortStableFunc(out, func(a, b Tx) int { return cmp.Compare(a.Slot, b.Slot) })
	return out, more, nil
}

// readOne reads one transaction of a history, unless the source keeps it.
func readOne(ctx context.Context, src Source, info *chain.SignatureInfo, at chain.Commitment) (Tx, error) {
	keeper, keeps := src.(*Kept)
	if keeps {
		if t, ok := keeper.get(info.Signature); ok {
			return t, nil
		}
	}
	landed, err := src.Transaction(ctx, info.Signature, at)
	if errors.Is(err, chain.ErrNotFound) {
		return Tx{}, fmt.Errorf("%w: the node lists it and does not show it", err)
	}
	if err != nil {
		return Tx{}, err
	}
	t, err := read(landed)
	if err == nil && keeps && info.Commitment == chain.Finalized {
		keeper.add(&t)
	}
	return t, err
}

// read reads a transaction. Where its events cannot be read it returns what can be, with chain.ErrUnreadable.
func read(l chain.Landed) (Tx, error) {
	if l.Err != nil {
		return Tx{}, fmt.Errorf("transaction %s: %w: the node lists it as a success and shows it as failed", l.Signature, chain.ErrUnreadable)
	}
	t := Tx{Signature: l.Signature, Slot: l.Slot, Time: l.BlockTime, Units: l.Units}
	t.Hidden = l.Inner == nil && slices.Contains(l.Keys, market.ProgramID)
	instruction := func(ix solana.CompiledInstruction) Instruction {
		in := Instruction{Program: l.Key(ix.ProgramIDIndex), Data: ix.Data}
		for _, a := range ix.Accounts {
			in.Accounts = append(in.Accounts, l.Key(a))
		}
		return in
	}
	for _, ix := range l.Tx.Message.Instructions {
		t.Instructions = append(t.Instructions, instruction(ix))
	}
	for i := range l.Tx.Message.Instructions {
		for _, ix := range l.Inner[i] {
			if l.Key(ix.ProgramIDIndex) == market.ProgramID {
				t.Instructions = append(t.Instructions, instruction(ix))
			}
		}
	}
	var err error
	t.Events, err = query.Events(&l)
	return t, err
}

// merge joins histories, each transaction once, oldest first.
func merge(histories ...[]Tx) []Tx {
	seen := map[solana.Signature]bool{}
	var out []Tx
	for _, h := range histories {
		for _, t := range h {
			if !seen[t.Signature] {
				seen[t.Signature] = true
				out = append(out, t)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Tx) int { return cmp.Compare(a.Slot, b.Slot) })
	return out
}

// find returns the first event of a type that satisfies the condition, and its transaction.
func find[T any](txs []Tx, cond func(*T) bool) (*T, Tx, bool) {
	for _, t := range txs {
		for _, e := range t.Events {
			if v, ok := e.Value.(*T); ok && cond(v) {
				return v, t, true
			}
		}
	}
	return nil, Tx{}, false
}
