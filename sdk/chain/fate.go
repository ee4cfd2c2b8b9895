package chain

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/rpc"
	"github.com/gagliardetto/solana-go/rpc/jsonrpc"
)

// Fate is what can be proven about a transaction that was signed and possibly sent.
type Fate int

// The fates.
const (
	FateOpen      Fate = iota // may still land
	FateLanded                // in a block; see the status
	FateDead                  // is in no block and can never be
	FateUncertain             // can no longer land, but this node's memory does not reach back far enough to say whether it did
)

// statusMemory is how many blocks after the end of a blockhash's validity a node's cache of signatures still surely
// covers it: the cache holds 300 rooted blocks, a blockhash is valid for 150.
const statusMemory = 100

// Fate decides whether a transaction of unknown status can still land.
//
// It is dead only when the finalised chain is higher than the last block at which its blockhash was valid, and the same
// node, asked afterwards, does not know the signature although its memory reaches back to the slot at which the
// blockhash was taken. Only then is it safe to sign a replacement.
func (c *Client) Fate(ctx context.Context, sig solana.Signature, lastValid, sinceSlot uint64) (Fate, SignatureStatus, error) {
	var fate Fate
	var st SignatureStatus
	err := c.Do(ctx, "getSignatureStatuses", func(ctx context.Context, r *rpc.Client) (err error) {
		fate, st, err = fateOn(ctx, r, sig, lastValid, sinceSlot)
		return err
	})
	return fate, st, err
}

func fateOn(ctx context.Context, r *rpc.Client, sig solana.Signature, lastValid, sinceSlot uint64) (Fate, SignatureStatus, error) {
	var none SignatureStatus
	var height unsigned
	if err := rawCall(ctx, r, &height, "getBlockHeight", commitmentParam(Finalized)); err != nil {
		return FateOpen, none, err
	}
	got, err := statuses(ctx, r, []solana.Signature{sig}, true)
	if err != nil {
		return FateOpen, none, err
	}
	switch {
	case got[0].Found:
		return FateLanded, got[0], nil
	case uint64(height) <= lastValid:
		return FateOpen, none, nil
	case uint64(height) <= lastValid+statusMemory:
		return FateDead, none, nil
	}
	// Too long ago for the cache: the ledger must answer, if the node keeps one.
	var tx *struct {
		Slot uint64 `json:"slot"`
		Meta struct {
			Err json.RawMessage `json:"err"`
		} `json:"meta"`
	}
	var refused *jsonrpc.RPCError
	switch err := rawCall(ctx, r, &tx, "getTransaction", sig, transactionParam(Finalized)); {
	case errors.As(err, &refused):
		return FateUncertain, none, nil
	case err != nil:
		return FateOpen, none, err
	case tx != nil:
		return FateLanded, SignatureStatus{Found: true, Slot: tx.Slot, Commitment: Finalized, Err: notNull(tx.Meta.Err)}, nil
	}
	var first unsigned
	switch err := rawCall(ctx, r, &first, "getFirstAvailableBlock"); {
	case errors.As(err, &refused):
		return FateUncertain, none, nil
	case err != nil:
		return FateOpen, none, err
	case uint64(first) > sinceSlot:
		return FateUncertain, none, nil
	}
	return FateDead, none, nil
}
