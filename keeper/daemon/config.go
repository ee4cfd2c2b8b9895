package daemon

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/internal/service"
	"github.com/gantry-market/gantry/keeper/check"
	"github.com/gantry-market/gantry/keeper/consensus"
	"github.com/gantry-market/gantry/keeper/evidence/archive"
	"github.com/gantry-market/gantry/keeper/signing"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/txm"
)

// Config of a keeper. Zero durations take what Timing.For makes of the market's parameters.
type Config struct {
	Client *chain.Client
	// Wallet is the key that signs for the keeper: its wallet's, or that of its signer.
	Wallet solana.PrivateKey
	// Keeper is the wallet of the keeper; zero is found on chain by the key.
	Keeper solana.PublicKey
	// Owner signs the transactions of an Account in place of Wallet, such as a wallet in a browser; nil for none.
	Owner txm.Signer
	// Signer is the signer that has the wallet's key and the store of what it has signed; nil when this process has them.
	// Several keepers may share one: one of them works, the others stand by.
	Signer *signing.Dialer
	// Data is the folder of the keeper's stores.
	Data string
	// Locks are folders for the lock of the wallet, of which the first that can be written is taken, and else Data: beside
	// the keypair file, so that every process that uses the file meets the lock.
	Locks []string
	// Listen is the network address to listen on; Announce the one to be reached at, empty when it is the same.
	Listen   string
	Announce string
	// HTTP is the address of metrics and health; empty for none. It is on loopback, unless WebConfig has TLS and users; see
	// figures.Options.
	HTTP      string
	WebConfig string
	// Service is the service manager that is told how the keeper does; the zero value is none.
	Service service.Manager
	Timing  Timing
	// Fees bound what the keeper's transactions cost; zero takes the defaults.
	Fees txm.Fees
	// Evidence is the policy that evidence is judged by; nil means policy.Default. Collateral is a folder with what it
	// needs from outside, empty for none: see attest/policy.Dir.
	Evidence   *policy.Policy
	Collateral string
	// KeepEvidence is how long bundles of evidence are kept for auditors; 0 takes DefaultKeepEvidence.
	KeepEvidence time.Duration
	// TokenPrice is what a whole stake token is worth to the operator; 0 sends no buy-backs. LeastProfit is the lowest
	// profit for which a buy-back or an emission claim is sent.
	TokenPrice, LeastProfit market.USDC
	// OutageVotes: the keeper watches nodes with leases that may move, and votes that one is away which does not answer.
	OutageVotes bool
	// Lines: the keeper measures what nodes' lines move.
	Lines bool
	// Simulation is how a keeper of a local network is false; the zero value is an honest keeper.
	Simulation Simulation
	Log        zerolog.Logger
}

// Timing is how often a keeper does what.
type Timing struct {
	CheckInterval time.Duration // liveness of each node
	CheckTimeout  time.Duration // for an answer
	EvidenceEvery uint          // one of so many nodes is drawn to show evidence in a period; 0 for none
	ChecksAtOnce  uint          // checks in flight at most
	ReportDelay   time.Duration // between a period's end and the first proposal
	RoundTimeout  time.Duration // before the next keeper proposes
	CrankInterval time.Duration // between looks at what is due
	CrankStep     time.Duration // that each rank waits before it cranks what is not its own
	AwardStep     time.Duration // that each rank waits before it awards an order
	Keep          time.Duration // of own statements, votes and leaf sets
}

// DefaultTiming is for public clusters, with periods of an hour.
func DefaultTiming() Timing {
	return Timing{
		CheckInterval: time.Minute, CheckTimeout: 10 * time.Second, EvidenceEvery: 24, ChecksAtOnce: check.DefaultAtOnce,
		ReportDelay: 20 * time.Second, RoundTimeout: 30 * time.Second, Keep: 26 * time.Hour,
	}
}

// LocalTiming is for local networks, with periods of five seconds.
func LocalTiming() Timing {
	return Timing{
		CheckInterval: 1500 * time.Millisecond, CheckTimeout: time.Second, EvidenceEvery: 4, ChecksAtOnce: check.DefaultAtOnce,
		ReportDelay: time.Second, RoundTimeout: 1500 * time.Millisecond, Keep: time.Hour,
	}
}

// maxChecksAtOnce is more than there are nodes in the largest market that keepers were simulated with.
const maxChecksAtOnce = 1 << 16

// ErrTiming is the error of timings that do not fit the market.
var ErrTiming = errors.New("timing does not fit the market")

// For fills in what follows from the market's parameters and checks the rest. Error: ErrTiming.
func (t Timing) For(p market.Params) (Timing, error) {
	period := market.Seconds(p.PeriodSecs)
	derive := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	derive(&t.CrankInterval, min(max(period/8, 500*time.Millisecond), 10*time.Second))
	derive(&t.CrankStep, max(t.CrankInterval*3/2, 900*time.Millisecond))
	derive(&t.AwardStep, min(max(market.Seconds(p.AwardDeadlineSecs)/60, 250*time.Millisecond), 2*time.Second))
	for name, d := range map[string]time.Duration{
		"check-interval": t.CheckInterval, "check-timeout": t.CheckTimeout, "report-delay": t.ReportDelay,
		"round-timeout": t.RoundTimeout, "crank-interval": t.CrankInterval, "crank-step": t.CrankStep,
		"award-step": t.AwardStep, "keep": t.Keep,
	} {
		if d <= 0 {
			return t, fmt.Errorf("%w: %s must be greater than zero", ErrTiming, name)
		}
	}
	if t.CheckInterval > period/2 {
		return t, fmt.Errorf("%w: --check-interval %s is more than half of the market's period of %s; use --localnet or a shorter one", ErrTiming, t.CheckInterval, period)
	}
	if t.CheckTimeout > t.CheckInterval {
		return t, fmt.Errorf("%w: --check-timeout %s is longer than --check-interval %s", ErrTiming, t.CheckTimeout, t.CheckInterval)
	}
	if retention := market.Seconds(p.ReportRetentionSecs); t.ReportDelay+2*t.RoundTimeout > retention {
		return t, fmt.Errorf("%w: reports may be voted on for %s only; shorten --report-delay and --round-timeout", ErrTiming, retention)
	}
	if t.EvidenceEvery > 255 {
		return t, fmt.Errorf("%w: --evidence-every must be at most 255", ErrTiming)
	}
	if t.ChecksAtOnce < 1 || t.ChecksAtOnce > maxChecksAtOnce {
		return t, fmt.Errorf("%w: --checks-at-once is %d, not 1 to %d", ErrTiming, t.ChecksAtOnce, maxChecksAtOnce)
	}
	return t, nil
}

func (t Timing) checks() check.Timing {
	return check.Timing{Every: t.CheckInterval, Timeout: t.CheckTimeout, EvidenceEvery: uint8(t.EvidenceEvery), AtOnce: int(t.ChecksAtOnce)}
}

func (t Timing) consensus() consensus.Timing {
	return consensus.Timing{Delay: t.ReportDelay, Round: t.RoundTimeout}
}

// DefaultKeepEvidence is how long keepers keep bundles: two years.
const DefaultKeepEvidence = 2 * 365 * 24 * time.Hour

// EvidenceArchive opens the bundles that a keeper with this data folder has kept.
func EvidenceArchive(data string) (*archive.Archive, error) {
	return archive.Open(Config{Data: data}.path(folderEvidence), DefaultKeepEvidence)
}

// Files of a keeper's data folder.
const (
	fileStore   = "keeper.db"
	fileSeen    = "signer.seen"
	fileTxm     = "transactions.db"
	fileCommand = "commands.db"
	fileHTTP    = "http.addr"

	folderEvidence     = "evidence"
	folderMeasurements = "measurements"
	folderComplaints   = "complaints"
	folderAnswers      = "answers"
)

// Path returns a file of the data folder.
func (c Config) path(name string) string { return filepath.Join(c.Data, name) }
