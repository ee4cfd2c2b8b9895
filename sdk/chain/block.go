package chain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
)

// ErrNoBlockYet is the error of a time that no block of the commitment has reached.
var ErrNoBlockYet = errors.New("no block of that time is there yet")

// Block is what names a block.
type Block struct {
	Slot uint64
	Hash [32]byte
	Time time.Time
}

// BlockSource knows the blocks of a commitment. Client.Blocks makes one.
type BlockSource interface {
	// Last is the last slot.
	Last(ctx context.Context) (uint64, error)
	// At is the first block at a slot or after it. Error: ErrNoBlockYet.
	At(ctx context.Context, slot uint64) (Block, error)
}

// FirstBlock is the first block whose time is at least t: a search over slots, in whose order times do not fall.
// Error: ErrNoBlockYet.
func FirstBlock(ctx context.Context, c BlockSource, t time.Time) (Block, error) {
	last, err := c.Last(ctx)
	if err != nil {
		return Block{}, err
	}
	best, err := c.At(ctx, last)
	if err != nil {
		return Block{}, err
	}
	if best.Time.Before(t) {
		return Block{}, ErrNoBlockYet
	}
	// Go back until before t, by what slots last on this chain, then twice as far.
	lasts, err := slotTime(ctx, c, best)
	if err != nil {
		return Block{}, err
	}
	high, step := best.Slot, uint64(best.Time.Sub(t)/lasts)+64
	low := uint64(0) // the slot before the first that is looked at
	for high > 0 {
		from := high - min(step, high)
		b, err := c.At(ctx, from)
		if err != nil {
			return Block{}, err
		}
		if b.Time.Before(t) {
			low = b.Slot + 1
			break
		}
		best, high, step = b, from, 2*step
	}
	for low < high {
		mid := low + (high-low)/2
		b, err := c.At(ctx, mid)
		if err != nil {
			return Block{}, err
		}
		if b.Time.Before(t) {
			low = b.Slot + 1
		} else {
			best, high = b, mid
		}
	}
	return best, nil
}

// slotSample is over how many slots the time that one lasts is measured: block times are whole seconds.
const slotSample = 512

// slotTime is how long slots before this block have lasted: validators change it, and local networks have their own.
func slotTime(ctx context.Context, c BlockSource, last Block) (time.Duration, error) {
	before, err := c.At(ctx, last.Slot-min(slotSample, last.Slot))
	if err != nil {
		return 0, err
	}
	if before.Slot >= last.Slot || !before.Time.Before(last.Time) {
		return time.Second, nil // too few blocks to say; the search goes further by itself
	}
	return max(last.Time.Sub(before.Time)/time.Duration(last.Slot-before.Slot), time.Millisecond), nil
}

// Blocks are those of a commitment, which must be Confirmed or Finalized: nodes serve no others.
func (c *Client) Blocks(at Commitment) BlockSource { return blockSource{c, at} }

type blockSource struct {
	client *Client
	at     Commitment
}

// Last implements BlockSource.
func (s blockSource) Last(ctx context.Context) (uint64, error) { return s.client.Slot(ctx, s.at) }

// At implements BlockSource.
func (s blockSource) At(ctx context.Context, slot uint64) (Block, error) {
	slots, _, err := ask(ctx, s.client, nil, notNil[[]unsigned], "getBlocksWithLimit", slot, 1, commitmentParam(s.at))
	if err != nil {
		return Block{}, fmt.Errorf("blocks from slot %d: %w", slot, err)
	}
	if len(slots) == 0 {
		return Block{}, ErrNoBlockYet
	}
	var got *struct {
		Hash string `json:"blockhash"`
		Time *int64 `json:"blockTime"`
	}
	err = s.client.Raw(ctx, &got, "getBlock", slots[0], map[string]any{
		"commitment": s.at, "transactionDetails": "none", "rewards": false, "maxSupportedTransactionVersion": MaxTransactionVersion,
	})
	if err != nil {
		return Block{}, fmt.Errorf("block at slot %d: %w", slots[0], err)
	}
	if got == nil { // the node has not the block yet that it has listed
		return Block{}, ErrNoBlockYet
	}
	if got.Time == nil {
		return Block{}, fmt.Errorf("block at slot %d has no time", slots[0])
	}
	hash, err := solana.HashFromBase58(got.Hash)
	return Block{uint64(slots[0]), hash, time.Unix(*got.Time, 0)}, err
}
