package invariants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// Call is one instruction of the market's program in a transaction that succeeded.
type Call struct {
	Name string
	// Units are the compute units it used, calls of other programs included.
	Units uint64
}

// Transaction is one transaction that called the market or that a watched wallet took part in.
type Transaction struct {
	Signature solana.Signature
	Slot      uint64
	Time      time.Time
	Payer     solana.PublicKey
	Fee       chain.Lamports
	Failed    bool
	Calls     []Call
	// Events are pointers to the bindings' event types, in order.
	Events []any
	// Moves are direct transfers of lamports between wallets.
	Moves []Move
}

// Move is a transfer of lamports by the system program.
type Move struct {
	From, To solana.PublicKey
	Lamports chain.Lamports
}

// History is what happened, oldest first.
type History struct{ Transactions []Transaction }

const (
	historyReaders  = 8
	programLog      = "Program "
	systemTransfer  = 2
	transactionWait = 5 * time.Second
)

// ReadHistory reads every transaction that names the program or one of the wallets, after the given slot. Error:
// chain.ErrUnreadable where the node shows less than what a transaction did: then no sum over the history is known.
func ReadHistory(ctx context.Context, client *chain.Client, wallets []solana.PublicKey, after uint64) (History, error) {
	return ReadAccounts(ctx, client, append([]solana.PublicKey{bindings.ProgramID}, wallets...), after)
}

// ReadAccounts reads every transaction that names one of the accounts, after the given slot.
func ReadAccounts(ctx context.Context, client *chain.Client, accounts []solana.PublicKey, after uint64) (History, error) {
	seen := map[solana.Signature]bool{}
	var order []solana.Signature
	for _, key := range accounts {
		list, err := client.History(ctx, key, chain.Confirmed, 0)
		if err != nil {
			return History{}, fmt.Errorf("history of %s: %w", key, err)
		}
		for _, entry := range list {
			// Of a simulation, which has no signature, the embedded engine keeps an entry now and then. Nothing landed by it.
			if entry.Slot > after && !seen[entry.Signature] && !entry.Signature.IsZero() {
				seen[entry.Signature] = true
				order = append(order, entry.Signature)
			}
		}
	}
	h := History{Transactions: make([]Transaction, len(order))}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(historyReaders)
	for i, sig := range order {
		group.Go(func() (err error) {
			h.Transactions[i], err = readTransaction(groupCtx, client, sig)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return History{}, err
	}
	slices.SortStableFunc(h.Transactions, func(a, b Transaction) int { return int(int64(a.Slot) - int64(b.Slot)) })
	return h, nil
}

// readTransaction waits a little: a node lists a signature before it serves the transaction.
func readTransaction(ctx context.Context, client *chain.Client, sig solana.Signature) (Transaction, error) {
	ctx, cancel := context.WithTimeout(ctx, transactionWait)
	defer cancel()
	for {
		landed, err := client.Transaction(ctx, sig, chain.Confirmed)
		if err == nil {
			return parseTransaction(landed)
		}
		if !errors.Is(err, chain.ErrNotFound) {
			return Transaction{}, err
		}
		if wait.For(ctx, 50*time.Millisecond) != nil {
			return Transaction{}, err
		}
	}
}

func parseTransaction(landed chain.Landed) (Transaction, error) {
	message := landed.Tx.Message
	t := Transaction{
		Signature: landed.Signature, Slot: landed.Slot, Time: landed.BlockTime,
		Payer: message.AccountKeys[0], Fee: landed.Fee, Failed: landed.Err != nil,
	}
	if t.Failed {
		return t, nil
	}
	units := topLevelUnits(landed.Logs)
	for _, ix := range message.Instructions {
		program := message.AccountKeys[ix.ProgramIDIndex]
		switch program {
		case solana.SystemProgramID:
			if move, ok := parseMove(ix, message.AccountKeys); ok {
				t.Moves = append(t.Moves, move)
			}
		case bindings.ProgramID:
			call := Call{Name: InstructionName(ix.Data)}
			if len(units) > 0 {
				call.Units, units = units[0], units[1:]
			}
			t.Calls = append(t.Calls, call)
		}
	}
	events, err := query.Events(&landed)
	for _, e := range events {
		t.Events = append(t.Events, e.Value)
	}
	return t, err
}

func parseMove(ix solana.CompiledInstruction, keys []solana.PublicKey) (Move, bool) {
	data := ix.Data
	if len(data) != 12 || !bytes.Equal(data[:4], []byte{systemTransfer, 0, 0, 0}) || len(ix.Accounts) < 2 {
		return Move{}, false
	}
	var lamports uint64
	for i, b := range data[4:] {
		lamports |= uint64(b) << (8 * i)
	}
	return Move{From: keys[ix.Accounts[0]], To: keys[ix.Accounts[1]], Lamports: chain.Lamports(lamports)}, true
}

// topLevelUnits reads what each call of the market at the top of a transaction consumed. The log of a call ends with
// the line after which its own calls have all ended.
func topLevelUnits(logs []string) []uint64 {
	own := programLog + bindings.ProgramID.String()
	var units []uint64
	depth := 0
	var consumed uint64
	for _, line := range logs {
		switch {
		case strings.HasPrefix(line, programLog) && strings.Contains(line, " invoke ["):
			depth++
		case strings.HasPrefix(line, own+" consumed ") && depth == 1:
			if _, err := fmt.Sscanf(line[len(own):], " consumed %d of", &consumed); err != nil {
				consumed = 0
			}
		case strings.HasPrefix(line, programLog) && strings.HasSuffix(line, " success"):
			if depth == 1 && strings.HasPrefix(line, own) {
				units = append(units, consumed)
			}
			depth--
		}
	}
	return units
}

// Find returns the last successful transaction with an event for which match is true, and that event.
func Find[E any](h History, match func(*E) bool) (Transaction, *E, bool) {
	for _, t := range slices.Backward(h.Transactions) {
		for _, event := range t.Events {
			if e, ok := event.(*E); ok && match(e) {
				return t, e, true
			}
		}
	}
	return Transaction{}, nil, false
}
