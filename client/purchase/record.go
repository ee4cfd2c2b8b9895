package purchase

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/internal/atomicfile"
	"github.com/gantry-market/gantry/sdk/group"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Stage is how far a purchase is, as far as its last command knew. The chain may be further.
type Stage string

// The stages.
const (
	// Intended: stored; its order may have been sent.
	Intended Stage = "intended"
	// Placed: the order is on chain; the job was not handed to every machine.
	Placed Stage = "placed"
	// Handed: every machine has the job.
	Handed Stage = "handed"
	// Over: nothing is left to be done.
	Over Stage = "over"
)

// Purchase is an order with its job, as a command wants to have it.
type Purchase struct {
	Version int    `json:"version"`
	Name    string `json:"name,omitempty"`    // idempotency key that the customer chose
	Attempt uint32 `json:"attempt,omitempty"` // counts those of a name that bought nothing
	// Request is what the customer asked for, without nonce and salt: a repeated command must ask for the same.
	Request [32]byte           `json:"request"`
	Order   solana.PublicKey   `json:"order"`
	Args    ix.OrderCreateArgs `json:"args"`
	// Auction and Reveal are the windows of a sealed order, seconds.
	Auction uint32            `json:"auction,omitempty"`
	Reveal  uint32            `json:"reveal,omitempty"`
	Job     *messages.JobSpec `json:"job,omitempty"` // with its secrets; forgotten when the purchase is over
	// Salt is the job's; it stays known, for a second run of the same job.
	Salt []byte `json:"salt,omitempty"`
	// Secret is what the keys of the job's volumes are made of, one for each lease; forgotten when the purchase is over.
	Secret []byte `json:"secret,omitempty"`
	// Backup is where snapshots of the volume go, without key and credentials.
	Backup *messages.Backup `json:"backup,omitempty"`
	// Kept is the folder of the bucket in which the customer keeps volumes, for a purchase whose volume is one of them; empty for
	// others. Given is the snapshot that the customer has chosen for its begin; zero for the newest.
	Kept  string   `json:"kept,omitempty"`
	Given [32]byte `json:"given,omitzero"`
	// Rerun is the order whose job is run again and compared; zero for none.
	Rerun  solana.PublicKey `json:"rerun"`
	Detach bool             `json:"detach,omitempty"`
	// Registry says what of a registry's credentials machines may be given. RegistryUser and RegistryPass are the account that the
	// customer gave, forgotten when the purchase is over; docker's are not kept.
	Registry     string `json:"registry,omitempty"`
	RegistryUser string `json:"registryUser,omitempty"`
	RegistryPass string `json:"registryPassword,omitempty"`
	// Unrecorded asks machines to keep no record of how the image started.
	Unrecorded bool          `json:"unrecorded,omitempty"`
	Receipts   time.Duration `json:"receipts,omitempty"` // how often they are signed
	// Verify says when the leases' GPUs are measured before they are paid: auto, always or never.
	Verify string `json:"verify,omitempty"`
	// Inspect says the same of a measurement at a random second of the lease, while a command attends it.
	Inspect string `json:"inspect,omitempty"`
	// Attest is the policy, with its collateral, that each machine must satisfy before it gets the job; empty for none.
	Attest string `json:"attest,omitempty"`
	// Guest has the measured guest of each lease run the job, which is sealed to it.
	Guest bool `json:"guest,omitempty"`
	// Gateway gives these ports of the leases public addresses.
	Gateway string          `json:"gateway,omitempty"`
	Public  []template.Port `json:"public,omitempty"`
	// UntilStopped says that leases are extended while a command attends them, and Budget bounds what the purchase may cost then, base
	// units of USDC; 0 for no bound. Renewals are the extensions, by the lease and the end of its time before.
	UntilStopped bool               `json:"untilStopped,omitempty"`
	Budget       uint64             `json:"budget,omitempty"`
	Renewals     map[string]Renewal `json:"renewals,omitempty"`
	// Retry says that another order follows where the machine leaves before the job has ended. After is the order that this one
	// follows, and RetryUntil is how long a machine is looked for; zero for an order that follows none.
	Retry      bool             `json:"retry,omitempty"`
	After      solana.PublicKey `json:"after,omitzero"`
	RetryUntil time.Time        `json:"retryUntil,omitzero"`
	// MinNodes is how many machines of the order, and of those that are added to its private network, have to run; 0 for any number.
	// Short is there while fewer run, and once the others were ended for that.
	MinNodes uint8        `json:"minNodes,omitempty"`
	Short    *group.Short `json:"short,omitempty"`
	// Group are the order's leases that have a private network, each in its place; none for an order of one machine.
	Group []messages.GroupMember `json:"group,omitempty"`
	// Joins is the order whose private network these machines were added to, and First the place of the first of them there; zero
	// for a network of their own.
	Joins   solana.PublicKey `json:"joins,omitzero"`
	First   int              `json:"first,omitempty"`
	Stage   Stage            `json:"stage"`
	Created time.Time        `json:"created"`
	// Bought says that a machine has taken the job; only for a purchase that is over without that does a repeated command
	// order anew.
	Bought bool `json:"bought,omitempty"`
	// Exit and Result are how the command of a purchase that is over ended, and what it printed as JSON.
	Exit    int             `json:"exit,omitempty"`
	Outcome string          `json:"outcome,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
}

// Renewal is an extension that was begun.
type Renewal struct {
	Seconds uint32 `json:"seconds"`
	Cost    uint64 `json:"cost"` // base units of USDC
}

// TooFew reports whether too few machines of a purchase run now, as far as its record says.
func (p *Purchase) TooFew() bool { return p.Short != nil && !p.Short.Broken() && p.Stage != Over }

// version of the record.
const version = 1

// Nonce is the nonce of the order that a name stands for, so that a customer's name is one order on every machine.
func Nonce(customer solana.PublicKey, name string, attempt uint32) uint64 {
	h := sha256.New()
	h.Write([]byte("gantry purchase\x00"))
	h.Write(customer[:])
	h.Write(binary.LittleEndian.AppendUint32(nil, attempt))
	h.Write([]byte(name))
	return binary.LittleEndian.Uint64(h.Sum(nil))
}

// End marks a purchase as over and forgets the job with its secrets, and what opens its volumes and its registry.
func (p *Purchase) End(exit int, outcome string, result json.RawMessage) {
	p.Stage, p.Exit, p.Outcome, p.Result, p.Job, p.Secret = Over, exit, outcome, result, nil, nil
	p.RegistryUser, p.RegistryPass = "", ""
}

func read(dir string) (Purchase, error) {
	var p Purchase
	path := filepath.Join(dir, fileRecord)
	raw, err := os.ReadFile(path)
	if err != nil {
		return p, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, fmt.Errorf("%w: %s: %w", ErrRecord, path, err)
	}
	if p.Version != version {
		return p, fmt.Errorf("%w: %s is of version %d, this gantry writes %d; use the gantry that wrote it", ErrRecord, path, p.Version, version)
	}
	return p, nil
}

// write replaces the record in one step: after a kill or a power cut there is the old one or the new one.
func write(dir string, p Purchase) error {
	p.Version = version
	raw, err := json.MarshalIndent(p, "", "  ")
	if err == nil {
		err = writeFile(dir, fileRecord, raw)
	}
	if err != nil {
		return fmt.Errorf("record of order %s: %w", p.Order, err)
	}
	return nil
}

// writeFile replaces a file of an order's folder; when it returns nil, a power cut does not undo it.
func writeFile(dir, name string, raw []byte) error {
	if err := atomicfile.WriteSynced(filepath.Join(dir, name), raw); err != nil {
		return err
	}
	return atomicfile.SyncFolder(filepath.Dir(dir)) // which has the folder's name
}
