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
	Unreadable   string // why what it did is not known; empty for a transaction that was read
}

// Instruction is a top-level instruction of a transaction.
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
			if out[i], err = readOne(gctx, src, &info, at); err == nil || !errors.Is(err, chain.ErrUnreadable) {
				return err
			}
			// Left out, it would be hidden; as an error, it would hide all the others.
			out[i] = Tx{Signature: info.Signature, Slot: info.Slot, Unreadable: err.Error()}
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
	if err != nil {
		return Tx{}, err
	}
	t, err := read(landed)
	if err == nil && keeps && info.Commitment == chain.Finalized {
		keeper.add(&t)
	}
	return t, err
}

func read(l chain.Landed) (Tx, error) {
	events, err := market.Events(l.Logs)
	if err != nil {
		return Tx{}, fmt.Errorf("transaction %s: %w: %w", l.Signature, chain.ErrUnreadable, err)
	}
	t := Tx{Signature: l.Signature, Slot: l.Slot, Time: l.BlockTime, Units: l.Units, Events: events}
	at := func(i uint16) solana.PublicKey {
		if int(i) < len(l.Keys) {
			return l.Keys[i]
		}
		return solana.PublicKey{} // no such account, which the runtime refuses
	}
	for _, ix := range l.Tx.Message.Instructions {
		in := Instruction{Program: at(ix.ProgramIDIndex), Data: ix.Data}
		for _, a := range ix.Accounts {
			in.Accounts = append(in.Accounts, at(a))
		}
		t.Instructions = append(t.Instructions, in)
	}
	return t, nil
}

// unreadable lists the transactions that could not be read as steps with a problem each.
func unreadable(histories ...[]Tx) []Step {
	var out []Step
	for _, t := range merge(histories...) {
		if t.Unreadable != "" {
			out = append(out, Step{
				Name: "unread", Time: t.Time, Signature: t.Signature, Text: "what this transaction did is not known",
				Problems: []string{t.Unreadable},
			})
		}
	}
	return out
}

// missingHistory is the error of an address without the history that was asked for: what could not be read may be it.
func missingHistory(txs []Tx, format string, args ...any) error {
	err := fmt.Errorf(format+": %w", append(args, ErrNoHistory)...)
	if steps := unreadable(txs); len(steps) > 0 {
		return fmt.Errorf("%w; %d of its transactions could not be read, the first: %s", err, len(steps), steps[0].Problems[0])
	}
	return err
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
