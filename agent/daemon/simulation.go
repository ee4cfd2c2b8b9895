package daemon

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/evidence"
	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/processor"
	"github.com/gantry-market/gantry/attest/tpm/device"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// ErrSimulation: a simulation was asked for on a cluster that is not local.
var ErrSimulation = errors.New("simulations serve local networks only")

// checkSimulations refuses simulations anywhere but on a local network, and labels them in the log.
func (a *Agent) checkSimulations(cluster runtime.Cluster) error {
	if !a.cfg.Simulates() {
		return nil
	}
	if err := cluster.CheckLocal(); err != nil {
		return fmt.Errorf("%w: %w", ErrSimulation, err)
	}
	s := a.cfg.Simulation
	a.log.Warn().Bool("simulated", true).Str("inventory", a.cfg.Inventory).Int("slow_factor", s.SlowFactor).
		Str("silence_file", s.SilenceFile).Str("lost_gpu_file", s.LostFile).Str("used_gpu_file", s.UsedFile).Str("kernel_log", s.KernelLog).
		Str("tpm", s.TPM).Bool("replayed_quote", s.ReplayedQuote).Bool("wrong_work", s.WrongWork).Bool("unopened", s.Unopened).Bool("relayed", s.Relayed).Dur("clock_ahead", s.ClockAhead).Msg("SIMULATION: this node is not what it seems")
	return nil
}

// simulation plays a false or broken node at the places where the agent meets the world: what it is asked, the date, the GPUs
// and what computes on them. The zero value changes nothing.
type simulation struct{ config.Simulation }

func (a *Agent) simulation() simulation { return simulation{a.cfg.Simulation} }

// silencePoll is how often a held request checks whether the silence is over.
const silencePoll = 200 * time.Millisecond

// before holds a request without an answer while the node is silent. When the silence ends, a held request is refused, so
// that it frees its place. It is a p2p.Options.Before.
func (s simulation) before(ctx context.Context) error {
	silent := false
	for s.SilenceFile != "" {
		if _, err := os.Stat(s.SilenceFile); err != nil {
			break
		}
		silent = true
		if wait.For(ctx, silencePoll) != nil {
			break
		}
	}
	if silent {
		return p2p.Refuse(p2p.CodeUnavailable, "")
	}
	return nil
}

// date is the machine's date.
func (s simulation) date() time.Time { return time.Now().Add(s.ClockAhead) }

// breaks has simulated GPUs fail.
func (s simulation) breaks(from host.Source) host.Source {
	from.LostFile, from.UsedFile = s.LostFile, s.UsedFile
	return from
}

// tpm is the machine's TPM, or the software TPM that stands for it. That has no log of a start.
func (s simulation) tpm(own *evidence.MachineTPM) *evidence.MachineTPM {
	if s.TPM == "" {
		return own
	}
	return &evidence.MachineTPM{Device: device.New(device.Options{Path: s.TPM, LogPath: os.DevNull})}
}

// replays puts the TPM's quote of the first bundle into all later ones.
func (s simulation) replays(key ed25519.PrivateKey, honest collector) collector {
	if !s.ReplayedQuote {
		return honest
	}
	var first []attest.Evidence
	return func(ctx context.Context, c attest.Challenge, statement []byte, more ...attest.Evidence) (*bundle.Bundle, error) {
		b, err := honest(ctx, c, statement, more...)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = b.OfKind(attest.KindTPM)
			return b, nil
		}
		b.Evidence = slices.DeleteFunc(b.Evidence, func(e attest.Evidence) bool { return e.Kind == attest.KindTPM })
		b.Evidence = append(b.Evidence, first...)
		return b, b.Sign(key)
	}
}

// falsifies returns what measures in place of honest devices.
func (s simulation) falsifies(honest []measure.Device) []measure.Device {
	out := make([]measure.Device, len(honest))
	for i, d := range honest {
		if s.WrongWork {
			d = processor.Faulty{}
		}
		if s.SlowFactor > 1 {
			d = processor.Slow{Device: d, Factor: s.SlowFactor}
		}
		if s.Unopened {
			d = processor.Unopened{Device: d}
		}
		out[i] = d
	}
	return out
}
