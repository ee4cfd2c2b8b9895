package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gantry-market/gantry/localnet/ports"
)

const (
	defaultAgaveSlot = 100 * time.Millisecond
	// tick is the validator's fixed time between two ticks: 160 ticks a second.
	tick = time.Second / 160
	// agavePorts is the number of consecutive ports a validator gets: RPC, WebSocket, faucet, gossip, and the range for
	// everything else, for which it wants at least 25.
	agavePorts = 4 + 32
	// ledgerShreds are kept, of which a slot takes 64 at least: without old blocks nobody can tell what became of a
	// transaction, and the default of 10,000 is seconds.
	ledgerShreds = 300_000
)

type agave struct{ node }

func (a *agave) Kind() Kind { return Agave }

func (a *agave) Start(ctx context.Context) (Endpoint, error) {
	if err := a.prepare(); err != nil {
		return Endpoint{}, err
	}
	block, err := ports.Claim(agavePorts)
	if err != nil {
		return Endpoint{}, err
	}
	defer block.Release() // the node listens by then
	base := block.First()
	slot := a.cfg.SlotTime
	if slot <= 0 {
		slot = defaultAgaveSlot
	}
	ticks := max(4, int((slot+tick/2)/tick))
	args := []string{
		"--ledger", filepath.Join(a.cfg.Dir, "ledger"),
		"--reset", "--quiet",
		"--config", filepath.Join(a.cfg.Dir, "no-config.yml"), // not those of the user
		"--bind-address", "127.0.0.1",
		"--rpc-port", strconv.Itoa(base), // and the next one for the WebSocket
		"--faucet-port", strconv.Itoa(base + 2),
		"--gossip-port", strconv.Itoa(base + 3),
		"--dynamic-port-range", fmt.Sprintf("%d-%d", base+4, base+agavePorts),
		"--ticks-per-slot", strconv.Itoa(ticks),
		"--limit-ledger-size", strconv.Itoa(ledgerShreds),
	}
	for _, p := range a.cfg.Programs {
		args = append(args, "--upgradeable-program", p.ID.String(), p.Path, p.authority())
	}
	return a.launch(ctx, Endpoint{RPC: loopback("http", base), WS: loopback("ws", base+1)}, args)
}

// Travel is not possible: a validator's clock follows its votes.
func (a *agave) Travel(context.Context, time.Time) error {
	return fmt.Errorf("moving the clock: %w (%s)", ErrUnsupported, Agave)
}
