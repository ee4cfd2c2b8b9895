package engine

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/gagliardetto/solana-go/rpc"

	"github.com/gantry-market/gantry/localnet/ports"
)

const defaultSurfnetSlot = 50 * time.Millisecond

type surfnet struct {
	node
	at Endpoint
}

func (s *surfnet) Kind() Kind { return Surfnet }

func (s *surfnet) Start(ctx context.Context) (Endpoint, error) {
	if err := s.prepare(); err != nil {
		return Endpoint{}, err
	}
	block, err := ports.Claim(2)
	if err != nil {
		return Endpoint{}, err
	}
	defer block.Release() // the node listens by then
	base := block.First()
	slot := s.cfg.SlotTime
	if slot <= 0 {
		slot = defaultSurfnetSlot
	}
	args := []string{
		"--exit-with-parent",
		"--rpc-port", strconv.Itoa(base),
		"--ws-port", strconv.Itoa(base + 1),
		"--slot-ms", strconv.FormatInt(slot.Milliseconds(), 10),
	}
	for _, p := range s.cfg.Programs {
		args = append(args, "--program", p.ID.String(), p.Path, p.authority())
	}
	s.at, err = s.launch(ctx, Endpoint{RPC: loopback("http", base), WS: loopback("ws", base+1)}, args)
	return s.at, err
}

// Travel moves the clock forward; the clock goes on from there at its usual pace.
func (s *surfnet) Travel(ctx context.Context, to time.Time) error {
	client := rpc.New(s.at.RPC)
	defer func() { _ = client.Close() }()
	var out any
	params := []any{map[string]any{"absoluteTimestamp": to.UnixMilli()}}
	if err := client.RPCCallForInto(ctx, &out, "surfnet_timeTravel", params); err != nil {
		return fmt.Errorf("travel to %s: %w", to.UTC().Format(time.RFC3339), err)
	}
	return nil
}
