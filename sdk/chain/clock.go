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

// clockWait is how long slower endpoints may take once one has said what time it is.
const clockWait = 2 * time.Second

// ClusterTime returns the time that programs see, which a local engine may have moved: the median of what the healthy
// endpoints say, the earlier one of two.
func (c *Client) ClusterTime(ctx context.Context, at Commitment) (time.Time, error) {
	all, err := c.Clocks(ctx, at)
	if err != nil {
		return time.Time{}, err
	}
	return all[(len(all)-1)/2], nil
}

// Clocks returns the time of the newest block by each healthy endpoint that answers, earliest first.
func (c *Client) Clocks(ctx context.Context, at Commitment) ([]time.Time, error) {
	if _, err := c.Genesis(ctx); err != nil {
		return nil, fmt.Errorf("cluster clock: %w", err)
	}
	type answer struct {
		at  time.Time
		err error
	}
	nodes := c.healthy(time.Now())
	answers := make(chan answer, len(nodes))
	late, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	for _, n := range nodes {
		c.sends.Go(func() {
			var t time.Time
			err, _ := c.on(late, n, "getAccountInfo", func(ctx context.Context, r *rpc.Client) (err error) {
				t, err = clockOf(ctx, r, at)
				return err
			})
			answers <- answer{t, err}
		})
	}
	var out []time.Time
	var last error
	var stop <-chan time.Time
	for range nodes {
		select {
		case a := <-answers:
			if a.err != nil {
				last = a.err
				continue
			}
			out = append(out, a.at)
			if stop == nil {
				timer := time.NewTimer(clockWait)
				defer timer.Stop()
				stop = timer.C
			}
			continue
		case <-stop:
		}
		break
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("cluster clock: %w", c.unreachable("getAccountInfo", nodes[0], last))
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
