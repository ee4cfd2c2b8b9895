package hostile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/localnet/fault"
)

const (
	// spoiledMachine is the machine whose RPC endpoint answers by bombs, copiedMachine the one of which there is a copy.
	spoiledMachine, copiedMachine = 0, 1
	// bombShare of its answers are bombs: the others keep it in the market.
	bombShare = 0.1
	copyWait  = 30 * time.Second
	copyEvery = 5 * time.Second
)

// Copies are agents that were started with the key of an honest machine that runs.
type Copies struct {
	Came   int      `json:"came"`
	Served []string `json:"served,omitempty"` // those that did not stop, and what they said
}

// bombs has the endpoint of one machine answer by bombs, or ends that and counts them.
func (s *suite) bombs(yes bool) error {
	name := s.net.Nodes[spoiledMachine].Name
	if yes {
		return s.net.Spoil(name, fault.Faults{Bomb: bombShare})
	}
	s.result.Bombs = s.net.SpoiledOf(name).Bombs
	return s.net.Spoil(name, fault.Faults{})
}

// copies starts copies of a machine, one after the other, as long as attackers attack.
func (h *honest) copies(ctx context.Context) error {
	m := h.s.net.Nodes[copiedMachine]
	for i := 0; ctx.Err() == nil; _ = wait.For(ctx, copyEvery) {
		h.mu.Lock()
		under := h.under
		h.mu.Unlock()
		if !under {
			continue
		}
		i++
		dir := filepath.Join(h.s.o.Dir, "copies", fmt.Sprint(i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		run, cancel := context.WithTimeout(ctx, copyWait)
		out, err := h.s.net.RunCopy(run, m, dir)
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		said := out.Stdout + out.Stderr
		h.mu.Lock()
		h.copied.Came++
		if err != nil || out.Code == 0 || !strings.Contains(said, "another agent runs with this machine's key") {
			h.copied.Served = append(h.copied.Served, fmt.Sprintf("%v: %.200s", err, said))
		}
		h.mu.Unlock()
	}
	return nil
}
