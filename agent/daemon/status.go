package daemon

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/challenge"
	"github.com/gantry-market/gantry/agent/faults"
	"github.com/gantry-market/gantry/agent/idle"
	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/agent/offer"
	"github.com/gantry-market/gantry/agent/store"
)

// Status is what a running agent writes for `gantry-agent status`, because its store has one user at a time.
type Status struct {
	PID       int       `json:"pid"`
	At        time.Time `json:"at"`
	Since     time.Time `json:"since"`
	Node      string    `json:"node"`
	NodeKey   string    `json:"node_key"`
	Addresses []string  `json:"addresses"`
	Keepers   int       `json:"keepers"`
	Connected int       `json:"keepers_connected"`
	// Inventory is how the GPUs were found; Simulated is true when they are not real.
	Inventory string `json:"inventory"`
	Simulated bool   `json:"simulated"`
	// Faults are those of the hardware that stand, and Worn what hardware has survived.
	Faults []string `json:"faults,omitempty"`
	Worn   []string `json:"worn,omitempty"`
	// Offer says whether the machine takes new leases.
	Offer offer.State `json:"offer"`
	// Clock says that the machine's date is off, and what to do; empty while it is not.
	Clock string `json:"clock,omitempty"`
	// Measurement says why the node got no figures in its last measurement, and what to do; empty where nothing is to be done.
	Measurement string `json:"measurement,omitempty"`
	// Network says why containers get no network, or what of the machine may stop it.
	Network []string `json:"network,omitempty"`
	// Idle is the owner's job; nil without one.
	Idle     *idle.State      `json:"idle,omitempty"`
	Checks   challenge.Counts `json:"checks"`
	Leases   []LeaseLine      `json:"leases"`
	InFlight int              `json:"transactions_in_flight"`
	// Images is the cache of images; nil on machines that run none.
	Images *image.Usage `json:"images,omitempty"`
}

// LeaseLine is one lease of a Status.
type LeaseLine struct {
	Lease    string    `json:"lease"`
	Customer string    `json:"customer"`
	State    string    `json:"state"`
	Note     string    `json:"note,omitempty"`
	Awarded  time.Time `json:"awarded_at"`
	Started  time.Time `json:"started_at"`
	Seconds  uint64    `json:"receipt_seconds"`
}

// statusEvery is how often the status file is renewed; one that is much older belongs to an agent that is gone.
const statusEvery = 2 * time.Second

// Fresh reports whether the status was written by an agent that still runs.
func (s Status) Fresh(now time.Time) bool {
	return now.Sub(s.At) < 5*statusEvery && syscall.Kill(s.PID, 0) == nil
}

// ReadStatus reads the file that a running agent keeps.
func ReadStatus(path string) (Status, error) { return readJSON[Status](path) }

// writeStatusFile renews the status file until ctx ends. An error is logged and does not stop the agent.
func (a *Agent) writeStatusFile(ctx context.Context) error {
	path := a.cfg.StatusPath()
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	logged := false
	for {
		err := a.writeStatus(path)
		if err != nil && !logged {
			a.log.Warn().Err(err).Msg("the status file cannot be written")
		}
		logged = err != nil
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (a *Agent) writeStatus(path string) error {
	s := Status{
		PID: os.Getpid(), At: time.Now().UTC(), Since: a.since.UTC(), Node: a.node.String(), NodeKey: a.key.PublicKey().String(),
		Addresses: a.p2p.Addrs(), Inventory: a.cfg.Inventory, Simulated: a.machine.Inventory.Simulated,
		Offer: a.offer.State(), Clock: a.clock.Wrong(), Measurement: a.measure.Counts().Trouble(), Network: a.trouble, Idle: a.idleState(), Checks: a.challenges.Counts(), Leases: []LeaseLine{}, InFlight: a.txm.InFlight(),
	}
	for _, f := range a.faults.All(faults.Broken) {
		s.Faults = append(s.Faults, f.String())
	}
	for _, f := range a.faults.All(faults.Worn) {
		s.Worn = append(s.Worn, f.String())
	}
	s.Connected, s.Keepers = a.connected()
	images, ok, err := a.images()
	if err != nil {
		return err
	}
	if ok {
		s.Images = &images
	}
	entries, err := a.store.Leases()
	if err != nil {
		return err
	}
	for _, r := range entries {
		line := LeaseLine{
			Lease: solana.PublicKey(r.Address).String(), Customer: solana.PublicKey(r.Customer).String(),
			State: string(r.State), Note: r.Note, Awarded: r.AwardedAt, Started: r.StartedAt,
		}
		if rec, err := a.store.Receipt(store.Key(r.Address)); err == nil && rec.Signed != nil {
			line.Seconds = rec.Signed.Seconds
		}
		s.Leases = append(s.Leases, line)
	}
	return writeJSON(path, s)
}
