package nat

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrUnavailable: this machine cannot make such a network.
var ErrUnavailable = errors.New("not available on this machine")

// Options of Run.
type Options struct {
	// Member is the command of a process that calls RunMember.
	Member []string
	// Only names one scenario; empty for all.
	Only string
	Out  io.Writer // what happens, for people
	Log  io.Writer // logs of the members
}

// Measure is what a way is worth.
type Measure struct {
	RoundTrip time.Duration `json:"round_trip"` // of a request and its answer, the median
	Logs      time.Duration `json:"logs"`       // for Bytes of output
	Bytes     uint64        `json:"bytes"`
	Keepers   uint64        `json:"keeper_bytes"` // what keepers sent and received meanwhile, headers included
}

func (m Measure) String() string {
	return fmt.Sprintf("a request takes %s (median of %d); %d MiB of output take %s, and keepers carry %.2f MiB of traffic for it",
		ms(m.RoundTrip), pings, m.Bytes>>20, ms(m.Logs), float64(m.Keepers)/(1<<20))
}

// Result is what one pair of routers came to.
type Result struct {
	Name           string        `json:"name"`
	NodeRouter     Router        `json:"node_router"`
	CustomerRouter Router        `json:"customer_router"`
	Reserved       time.Duration `json:"reserved"`
	Found          time.Duration `json:"found"`
	Relayed        Measure       `json:"relayed"`
	Upgraded       time.Duration `json:"upgraded,omitempty"`
	Final          Measure       `json:"final"`
	Recovered      time.Duration `json:"recovered,omitempty"`
}

func ms(d time.Duration) string { return d.Round(time.Millisecond).String() }

// Router is how a home router translates addresses.
type Router string

const (
	// Cone keeps a machine's port towards every peer, and lets in only whom the machine has sent to: most home routers.
	Cone Router = "cone"
	// Symmetric takes another port for every peer: carriers and companies. No hole can be punched.
	Symmetric Router = "symmetric"
	// NoUDP is Cone that drops UDP.
	NoUDP Router = "cone, no UDP"
)

// pings is how many requests a Measure takes.
const pings = 20
