package chain

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/rpc"

	"github.com/gantry-market/gantry/sdk/records"
)

// ClusterTime returns the time that programs see, which a local engine may have moved: the median of what the healthy
// endpoints say, the earlier one of two.
func (c *Client) ClusterTime(ctx context.Context, at Commitment) (time.Time, error) {
	all, err := c.Clocks(ctx, at)
	if err != nil {
		return time.Time{}, err
	}
	return all[(len(all)-1)/2], nil
}

// Now is ClusterTime at the client's own commitment level, in unix seconds as the chain's accounts have them.
func (c *Client) Now(ctx context.Context) (int64, error) {
	at, err := c.ClusterTime(ctx, c.commitment)
	if err != nil {
		return 0, err
	}
	return at.Unix(), nil
}

// Clocks returns the time of the newest block by each healthy endpoint that answers, earliest first.
func (c *Client) Clocks(ctx context.Context, at Commitment) ([]time.Time, error) {
	all, err := everyone(ctx, c, "cluster clock", "getAccountInfo", func(ctx context.Context, r *rpc.Client) (time.Time, error) {
		return clockOf(ctx, r, at)
	})
	if err != nil {
		return nil, err
	}
	out := make([]time.Time, len(all))
	for i, a := range all {
		out[i] = a.got
	}
	slices.SortFunc(out, time.Time.Compare)
	return out, nil
}

func clockOf(ctx context.Context, r *rpc.Client, level Commitment) (time.Time, error) {
	var out at[json.RawMessage]
	if err := rawCall(ctx, r, &out, "getAccountInfo", solana.SysVarClockPubkey, accountParam(level)); err != nil {
		return time.Time{}, err
	}
	acc, err := accountIn(&out, solana.SysVarClockPubkey)
	if err != nil {
		return time.Time{}, err
	}
	if acc == nil {
		return time.Time{}, fmt.Errorf("cluster clock: %w", ErrAccountNotFound)
	}
	return TimeIn(acc.Data)
}

// TimeIn is the time in the data of the clock's account (solana.SysVarClockPubkey). Error: records.ErrLength.
func TimeIn(clock []byte) (time.Time, error) {
	if len(clock) < 40 {
		return time.Time{}, fmt.Errorf("cluster clock has %d bytes: %w", len(clock), records.ErrLength)
	}
	return time.Unix(int64(binary.LittleEndian.Uint64(clock[32:])), 0).UTC(), nil
}
