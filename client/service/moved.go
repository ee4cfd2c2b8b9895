package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// Transactions reads transactions that landed. *chain.Client implements it.
type Transactions interface {
	Transaction(ctx context.Context, sig solana.Signature, at chain.Commitment) (chain.Landed, error)
}

// Moved says what of a document's transactions is not known. They took effect all the same.
type Moved struct {
	Unknown []string `json:"unknown,omitempty"` // why, by transaction; the amounts are then left out
}

// Known reports whether the node showed what all transactions did.
func (m *Moved) Known() bool { return len(m.Unknown) == 0 }

// Failure is what a command ends with, whose own document says the rest; nil where everything is known.
func (m *Moved) Failure(signature string) error {
	if m.Known() {
		return nil
	}
	f := m.Untold(signature)
	f.Told = true
	return f
}

// Untold is Failure of a command that prints no document of its own.
func (m *Moved) Untold(signature string) *Failure {
	return &Failure{
		Code: CodeUnknown, Reason: "the transaction took effect, and the node does not show what it moved: " + m.Unknown[0],
		Advice: "do not send it again; another node may show it: solana confirm -v " + signature, Cause: chain.ErrUnreadable,
	}
}

// EventsOf reads what a transaction did, from its log. What the node does not show is noted in m.
func EventsOf[T any](ctx context.Context, src Transactions, at chain.Commitment, tx Sent, m *Moved) []*T {
	out, err := readEvents[T](ctx, src, at, tx.Signature)
	if err != nil {
		m.Unknown = append(m.Unknown, err.Error())
	}
	return out
}

func readEvents[T any](ctx context.Context, src Transactions, at chain.Commitment, signature string) ([]*T, error) {
	sig, err := solana.SignatureFromBase58(signature)
	if err != nil {
		return nil, err
	}
	landed, err := src.Transaction(ctx, sig, at)
	if err != nil {
		return nil, err
	}
	events, err := query.Events(&landed)
	if err != nil {
		return nil, err
	}
	var out []*T
	for _, e := range events {
		if v, ok := e.Value.(*T); ok {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("transaction %s: %w", signature, errors.Join(chain.ErrUnreadable, errors.New("it has no such event")))
	}
	return out, nil
}
