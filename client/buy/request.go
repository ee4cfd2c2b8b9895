package buy

import (
	"fmt"
	"maps"
	"time"

	"github.com/gantry-market/gantry/client/expose"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// When a machine is measured: before it is paid (Verify), or at a random second of the lease (Inspect).
const (
	Auto   = "auto"
	Always = "always"
	Never  = "never"
)

// What an order is for, the windows of a sealed one, and the time between receipts, where the request names none.
const (
	// DefaultSecs is how long a lease is rented for. What is not used comes back.
	DefaultSecs = 3600

	DefaultAuctionSecs  = 30
	DefaultRevealSecs   = 15
	DefaultReceiptEvery = 3 * time.Second
)

// Request is what a customer asks for. It is the one list of what a purchase can say: the order of the HTTP API and
// the tool of language models are this struct, and each field has a flag of gantry deploy. A zero field means its
// default. Fields that JSON leaves out need somebody at the command line; a test names the reason for each.
type Request struct {
	GPU             string            `json:"gpu" minLength:"1" maxLength:"32" example:"A100" doc:"GPU model or part of its name, such as A100, rtx4090, A100:4 for four on each node, or any; of several models keepers award the best machine" jsonschema:"GPU model or part of its name, such as A100, rtx4090, A100:4 for four on each node, or any; of several models keepers award the best machine"`
	Count           uint8             `json:"count,omitempty" default:"1" minimum:"1" maximum:"8" doc:"GPUs on each node" jsonschema:"GPUs on each node, 1 to 8; 1 by default"`
	Nodes           uint8             `json:"nodes,omitempty" default:"1" minimum:"1" maximum:"64" doc:"Nodes, all or none" jsonschema:"nodes, all or none; 1 by default"`
	Region          string            `json:"region,omitempty" maxLength:"16" doc:"Prefix of the region" jsonschema:"prefix of the region"`
	MaxPrice        string            `json:"maxPricePerGpuHour,omitempty" maxLength:"24" example:"2.60" doc:"The most USDC per GPU-hour; the model's reference price by default" jsonschema:"the most USDC per GPU-hour; the model's reference price by default"`
	Seconds         uint32            `json:"seconds" minimum:"1" doc:"How long, seconds" jsonschema:"how long, seconds; stop ends it earlier"`
	Image           string            `json:"image,omitempty" maxLength:"512" doc:"Container image; machines run a command without one on local networks only" jsonschema:"container image; exec needs one"`
	Unrecorded      bool              `json:"unrecorded,omitempty" doc:"Ask machines to keep no public record of how the image started; they keep none of an image that needs a credential" jsonschema:"ask machines to keep no public record of how the image started"`
	Registry        string            `json:"registryCredentials,omitempty" enum:"token,password" doc:"What machines get for an image that is not public: a token that can read its repository for minutes, or the password where the registry gives out no tokens. Token by default, where registryUser is given" jsonschema:"what machines get for an image that is not public: token (the default with registryUser), which can read its repository for minutes, or password, where the registry gives out no tokens"`
	RegistryUser    string            `json:"registryUser,omitempty" maxLength:"256" doc:"Account at the registry of an image that is not public. The server keeps it with the job until the purchase is over" jsonschema:"account at the registry of an image that is not public; this server keeps it with the job until the purchase is over"`
	RegistryPass    string            `json:"registryPassword,omitempty" maxLength:"4096" format:"password" doc:"Password or access token of registryUser" jsonschema:"password or access token of registryUser"`
	Command         []string          `json:"command,omitempty" maxItems:"256" doc:"What runs; the image's own command by default" jsonschema:"what runs; the image's own command by default"`
	Entrypoint      string            `json:"entrypoint,omitempty" maxLength:"4096" doc:"Program of the container, in place of the image's entry point and command; its arguments are the command" jsonschema:"program of the container, in place of the image's entry point and command; its arguments are the command"`
	User            string            `json:"user,omitempty" maxLength:"256" example:"root" doc:"User of the container's program: a name of the image's or a number, with :GROUP if need be; the image's by default" jsonschema:"user of the container's program: a name of the image's such as root, or a number, with :GROUP if need be; the image's by default"`
	Env             map[string]string `json:"env,omitempty" doc:"Environment of the job" jsonschema:"environment of the job"`
	Network         string            `json:"network,omitempty" enum:"internet,none" doc:"What a container may reach; internet by default" jsonschema:"internet or none: what a container may reach; internet by default"`
	Volume          string            `json:"volume,omitempty" maxLength:"256" doc:"NAME:SIZE[:PATH]: an encrypted file system for the container, as long as the job runs" jsonschema:"NAME:SIZE[:PATH], such as data:50GiB: an encrypted file system for the container, as long as the job runs"`
	Keep            bool              `json:"keep,omitempty" doc:"Keep the volume in the server's bucket under its name: it begins with what the customer's last lease left in the volume of that name, whose size may be left out then. Refused while another lease uses it" jsonschema:"keep the volume in the server's bucket under its name: it begins with what the last lease left in the volume of that name, whose size may be left out then. Refused while another lease uses it"`
	MinMemory       uint              `json:"minMemoryGiB,omitempty" maximum:"1024" doc:"Of each GPU" jsonschema:"GiB of memory of each GPU, at least"`
	Ports           []template.Port   `json:"ports,omitempty" maxItems:"16" doc:"That the program listens on: what a list of the lease's ports begins with. They change nothing of the order" jsonschema:"ports that the program listens on; they change nothing of the order"`
	RunToCompletion bool              `json:"runToCompletion,omitempty" doc:"The lease ends with the job" jsonschema:"the lease ends with the job"`
	AllowSimulated  bool              `json:"allowSimulated,omitempty" doc:"Simulated GPUs too, on local networks" jsonschema:"simulated GPUs too, on local networks"`
	Inspect         string            `json:"inspect,omitempty" enum:"auto,always,never" doc:"Measure the machine once at a random second of the lease, beside the job, from which it takes a little memory and a few seconds: auto for one lease in eight, and none of simulated GPUs. A lease whose machine does not pass is ended. never by default; inspection of the lease says what came of it" jsonschema:"auto, always or never (the default): measure the machine once at a random second of the lease, beside the job; auto for one lease in eight. A lease whose machine does not pass is ended. The tool leases shows what came of it; this server has to run at that second"`
	service.Figures
	service.Share

	MinTFLOPS     uint32   `json:"minTflops,omitempty" maximum:"1000000" doc:"Dense FP16 TFLOPS of the model's data sheet, at least; for gpu any or a family" jsonschema:"dense FP16 TFLOPS of the model's data sheet, at least; for gpu any or a family"`
	MinUptime     string   `json:"minUptimePercent,omitempty" maxLength:"8" example:"99.5" doc:"Uptime of the node in percent, at least" jsonschema:"uptime of the node in percent, at least"`
	MinReputation string   `json:"minReputationPercent,omitempty" maxLength:"8" example:"90" doc:"Reputation of the node in percent, at least" jsonschema:"reputation of the node in percent, at least"`
	MinTier       uint8    `json:"minTier,omitempty" maximum:"3" doc:"Tier of the node's evidence, at least" jsonschema:"tier of the node's evidence, 0 to 3, at least"`
	Link          string   `json:"link,omitempty" enum:"pcie,nvlink,nvswitch" doc:"How the node's GPUs are connected, at least" jsonschema:"how the node's GPUs are connected, at least: pcie, nvlink or nvswitch"`
	Guaranteed    bool     `json:"guaranteed,omitempty" doc:"Only nodes whose uptime guarantee covers the order's latest end" jsonschema:"only nodes whose uptime guarantee covers the order's latest end"`
	Spot          bool     `json:"spot,omitempty" doc:"Interruptible, at nodes' spot prices: the machine may end the lease after a notice of two minutes, ten minutes after its start at the earliest" jsonschema:"interruptible, at nodes' spot prices: the machine may end the lease after a notice of two minutes, ten minutes after its start at the earliest"`
	Retry         bool     `json:"retry,omitempty" doc:"When the machine gives notice and leaves before the job has ended, order again for the time that is left, at the same terms, for an hour until a machine has it; the server does so while it runs. A volume that is kept, or has a backup, goes on with its last snapshot" jsonschema:"when the machine gives notice and leaves before the job has ended, order again for the time that is left, at the same terms; this server has to run then"`
	MinNodes      uint8    `json:"minNodes,omitempty" maximum:"64" doc:"How many of the nodes have to run. Where fewer run for five times the market's start deadline, which are ten minutes by default, the others are ended; the server does so while it runs. 0, the default: any number" jsonschema:"how many of the nodes have to run: where fewer run for ten minutes, the others are ended; this server has to run then. 0, the default: any number"`
	SameSite      bool     `json:"sameSite,omitempty" doc:"All nodes of the order stand at one site" jsonschema:"all nodes of the order stand at one site"`
	Shm           uint64   `json:"shmMiB,omitempty" doc:"What /dev/shm of the container may hold, at most its memory; half of that by default" jsonschema:"what /dev/shm of the container may hold, MiB, at most its memory; half of that by default"`
	SSHKeys       []string `json:"sshKeys,omitempty" maxItems:"15" doc:"Public keys that may log in to the container, as a line of authorized_keys each" jsonschema:"public keys that may log in to the container, as a line of authorized_keys each"`
	Redundancy    uint8    `json:"redundancy,omitempty" minimum:"3" maximum:"7" doc:"Run the job on so many machines of different owners: 3, 5 or 7; the customer pays for all, and only machines whose output matches the majority are paid. Instead of nodes" jsonschema:"run the job on so many machines of different owners: 3, 5 or 7; the customer pays for all, and only machines whose output matches the majority are paid. Instead of nodes"`
	Sealed        bool     `json:"sealed,omitempty" doc:"Let nodes bid in a sealed second-price auction instead of taking the standing asks" jsonschema:"let nodes bid in a sealed second-price auction instead of taking the standing asks"`
	AuctionSecs   uint32   `json:"auctionSeconds,omitempty" minimum:"5" maximum:"86400" doc:"For commitments of a sealed order; 30 by default" jsonschema:"seconds for commitments of a sealed order; 30 by default"`
	RevealSecs    uint32   `json:"revealSeconds,omitempty" minimum:"5" maximum:"3600" doc:"For reveals of a sealed order; 15 by default" jsonschema:"seconds for reveals of a sealed order; 15 by default"`
	Verify        string   `json:"verify,omitempty" enum:"auto,always,never" doc:"Measure the machine before it is paid, while it fetches the image: auto (the default) if its figure is old, and one lease in eight. A lease whose machine does not pass is ended" jsonschema:"auto (the default), always or never: measure the machine before it is paid; a lease whose machine does not pass is ended"`
	Attest        string   `json:"attest,omitempty" maxLength:"196608" doc:"A policy for evidence, as JSON text: before anything of the job is sent, each machine must prove what the policy asks for to the server, with a fresh nonce. A machine that does not is sent nothing, and its lease is ended; attestation of the lease says why. Write {\"policy\": …, \"collateral\": {KEY: BASE64}} where the policy needs certificates" jsonschema:"a policy for evidence, as JSON text: before anything of the job is sent, each machine must prove what it asks for; a machine that does not is sent nothing, and its lease is ended. The tool leases shows what was proved"`
	Guest         bool     `json:"guest,omitempty" doc:"Run the container of image in a measured guest that the machine starts for it: a virtual machine without a GPU, whose image attest names. The job is sealed to it, and its output and exit code to the server, which opens them" jsonschema:"run the container of image in a measured guest that the machine starts for it: a virtual machine without a GPU, whose image attest names. The job is sealed to it; logs and job show its output and exit code"`

	Migrate bool `json:"migrate,omitempty" doc:"When the machine fails, another one takes the job for the time that is left, at no higher price; the server brings it there" jsonschema:"when the machine fails, another one takes the job for the time that is left, at no higher price; this server has to run then"`
	// Budget is what all leases of the order may cost; "" for what is free in the credits.
	UntilStopped bool   `json:"untilStopped,omitempty" doc:"Extend each lease by seconds again and again, shortly before its end, until it is stopped or the budget is used up; the server does so while it runs" jsonschema:"extend each lease by seconds again and again, shortly before its end, until it is stopped or the budget is used up; needs a budget, and this server has to run"`
	Budget       string `json:"budget,omitempty" maxLength:"24" example:"25" doc:"The most USDC that the order and its extensions may cost, with untilStopped; by default what is free in the credits and left of the session key's cap" jsonschema:"the most USDC that the order and its extensions may cost, with untilStopped"`

	Gateway string          `json:"gateway,omitempty" maxLength:"256" doc:"Gateway that gives the ports of public an https address when the lease runs: its key, its address with its identity, or auto (default) for the cheapest and nearest that keepers know. The lease also runs if the gateway gives none" jsonschema:"gateway that gives the ports of public an https address when the lease runs: its key, its address with its identity, or auto (default) for the cheapest and nearest that keepers know"`
	Public  []template.Port `json:"public,omitempty" maxItems:"16" doc:"Ports of the container that anybody reaches by the address that gateway gives them, which begins with the name: lower-case letters, digits and hyphens; the number by default" jsonschema:"ports of the container that anybody reaches by the address that gateway gives them, which begins with the name: lower-case letters, digits and hyphens"`

	// Name of the purchase: a repeated request with it continues what was begun, and buys nothing twice. HTTP and the
	// tools have their idempotency key for it.
	Name string `json:"-"`
	// Rerun is the redundant order whose job is run again on machines of other owners, and compared.
	Rerun string `json:"-"`
	// Health says when the program serves; nil where nobody knows. It changes nothing of the order.
	Health *template.Probe `json:"-"`
	// Detach ends the purchase when the job runs; keepers' reports settle it.
	Detach bool `json:"-"`
	// ReceiptEvery is how often receipts are signed while the purchase is attended.
	ReceiptEvery time.Duration `json:"-"`
	// Backup is s3://BUCKET/FOLDER for encrypted snapshots of the volume, BackupEndpoint the URL of a server that is not
	// Amazon's, and BackupEvery the time between snapshots besides the one at the job's end.
	Backup         string        `json:"-"`
	BackupEndpoint string        `json:"-"`
	BackupEvery    time.Duration `json:"-"`
	// Restore is the hash of the snapshot with which the job begins.
	Restore string `json:"-"`
}

// Fill puts what a template says where the request says nothing. The template says what runs.
func (r *Request) Fill(j *template.Job) error {
	if len(r.Command) > 0 {
		return usage("a template says what runs, and there is a command too", "leave the command or --template out")
	}
	if r.Entrypoint != "" {
		return usage("a template says what runs, and there is an --entrypoint too", "leave --entrypoint or --template out")
	}
	r.Command, r.Ports, r.Health = j.Command, j.Ports, j.Health
	for _, f := range []struct {
		into *string
		text string
	}{{&r.Image, j.Image}, {&r.Network, j.Network}, {&r.Volume, j.Volume}} {
		if *f.into == "" {
			*f.into = f.text
		}
	}
	if r.Count == 0 {
		r.Count = j.GPUs
	}
	if r.MinMemory == 0 {
		r.MinMemory = j.MemoryGiB
	}
	r.RunToCompletion = r.RunToCompletion || j.ToEnd
	if r.GPU == "" {
		r.GPU = j.Try.GPU
		if r.MaxPrice == "" {
			r.MaxPrice = j.Try.MaxPrice
		}
	}
	if r.Seconds == 0 {
		r.Seconds = j.Try.Minutes * 60
	}
	env := maps.Clone(j.Env)
	if env == nil {
		env = r.Env
	} else {
		maps.Copy(env, r.Env)
	}
	r.Env = env
	return nil
}

// Check reports what is wrong with a request, as far as that is known without asking anyone. Error: a
// [service.Failure].
func (r *Request) Check() error {
	if len(r.Command) == 0 && r.Image == "" && r.Restore == "" {
		return usage("there is no command to run", "write it after --, such as: gantry deploy --gpu A100 --minutes 10 -- python train.py")
	}
	if r.GPU == "" {
		return usage("--gpu is missing", "name a model; see: gantry search")
	}
	for _, mode := range []struct{ flag, value string }{{"verify", r.Verify}, {"inspect", r.Inspect}} {
		if err := checkMode(mode.flag, mode.value); err != nil {
			return err
		}
	}
	if _, _, err := service.ParseGPU(r.GPU, r.Count); err != nil {
		return err
	}
	d := r.withDefaults()
	switch {
	case d.Count < 1 || d.Count > market.MaxGPUs:
		return usage(fmt.Sprintf("--count is %d", d.Count), "a node has 1 to 8 GPUs; use --nodes for more")
	case d.Nodes < 1 || d.Nodes > market.MaxOrderNodes:
		return usage(fmt.Sprintf("--nodes is %d", d.Nodes), "an order is over 1 to 64 nodes")
	case r.Seconds > market.MaxDurationSecs:
		return usage(fmt.Sprintf("the time is %d seconds", r.Seconds), "give from one second up to one year")
	}
	if _, err := r.price(); err != nil {
		return err
	}
	if err := r.checkBackup(); err != nil {
		return err
	}
	if r.Keep && r.Volume == "" {
		return usage("--keep is for volumes", "name one, such as --volume data:50GiB --keep")
	}
	if err := r.checkContainer(); err != nil {
		return err
	}
	if err := r.checkJob(); err != nil {
		return err
	}
	if err := r.checkPublic(); err != nil {
		return err
	}
	if err := r.checkRenewal(); err != nil {
		return err
	}
	if err := r.checkRetry(); err != nil {
		return err
	}
	if err := r.checkMinNodes(); err != nil {
		return err
	}
	if _, err := r.requirement(); err != nil {
		return err
	}
	if err := r.checkGuest(); err != nil {
		return err
	}
	if _, _, err := r.document(); err != nil {
		return err
	}
	return r.checkKind()
}

// checkContainer checks what is for containers.
func (r *Request) checkContainer() error {
	if err := r.checkRegistry(); err != nil {
		return err
	}
	if r.Restore != "" { // the suspended container says what runs
		return nil
	}
	_, err := r.volume()
	switch {
	case r.Network != "" && r.Network != messages.NetworkInternet && r.Network != networkNone:
		return usage(fmt.Sprintf("--network %q is not known", r.Network), "say internet or none")
	case r.Image == "" && r.Network != "":
		return usage("--network is for containers", "name an --image, or leave --network out")
	}
	return err
}

// checkKind checks what sealed and redundant orders say.
func (r *Request) checkKind() error {
	compared := r.Redundancy != 0 || r.Rerun != ""
	d := r.withDefaults()
	switch {
	case !r.Sealed && (r.AuctionSecs != 0 || r.RevealSecs != 0):
		return usage("--auction-secs and --reveal-secs are for sealed orders", "add --sealed")
	case r.Sealed && compared:
		return usage("a sealed order cannot be redundant: the best bids may be one owner's", "leave --sealed or --redundancy out")
	case r.Sealed && (d.AuctionSecs < market.AuctionSecsMin || d.AuctionSecs > market.AuctionSecsMax):
		return usage(fmt.Sprintf("--auction-secs is %d", d.AuctionSecs), fmt.Sprintf("give %d to %d seconds", market.AuctionSecsMin, market.AuctionSecsMax))
	case r.Sealed && (d.RevealSecs < market.RevealSecsMin || d.RevealSecs > market.RevealSecsMax):
		return usage(fmt.Sprintf("--reveal-secs is %d", d.RevealSecs), fmt.Sprintf("give %d to %d seconds", market.RevealSecsMin, market.RevealSecsMax))
	case r.Sealed && d.Nodes > market.MaxSealedNodes:
		return usage(fmt.Sprintf("--nodes is %d", d.Nodes), fmt.Sprintf("a sealed order is over at most %d nodes", market.MaxSealedNodes))
	case r.Redundancy != 0 && !market.CanCompare(r.Redundancy):
		return usage(fmt.Sprintf("--redundancy is %d", r.Redundancy), "outputs are compared of 3, 5 or 7 machines: half of an even number could keep the others from a majority")
	case r.Spot && (r.Sealed || compared || r.RunToCompletion || r.Guaranteed):
		return usage("--spot takes standing spot prices of machines that may leave", "leave --sealed, --redundancy, --rerun, --run-to-completion or --guaranteed out; without --run-to-completion, end the lease with: gantry stop")
	case r.Keep && (compared || d.Nodes > 1):
		return usage("--keep is for one machine: two cannot write to one volume", "leave --keep out, or --nodes, --redundancy and --rerun")
	case compared && d.Nodes > 1:
		return usage("--redundancy says how many machines there are", "leave --nodes out")
	case compared && r.Migrate:
		return usage("a redundant job stays where it is", "leave --migrate out")
	}
	return nil
}

// withDefaults is the request with defaults in place of zero fields.
func (r *Request) withDefaults() Request {
	d := *r
	if name, n, err := service.ParseGPU(r.GPU, r.Count); err == nil {
		d.GPU, d.Count = name, n
	}
	d.Nodes = max(r.Nodes, 1)
	if r.Seconds == 0 {
		d.Seconds = DefaultSecs
	}
	if r.Sealed && r.AuctionSecs == 0 {
		d.AuctionSecs = DefaultAuctionSecs
	}
	if r.Sealed && r.RevealSecs == 0 {
		d.RevealSecs = DefaultRevealSecs
	}
	if len(r.Public) > 0 && r.Gateway == "" {
		d.Gateway = expose.Auto
	}
	if r.ReceiptEvery <= 0 {
		d.ReceiptEvery = DefaultReceiptEvery
	}
	if r.Verify == "" {
		d.Verify = Auto
	}
	if r.Inspect == "" {
		d.Inspect = Never
	}
	return d
}

func checkMode(flag, mode string) error {
	switch mode {
	case "", Auto, Always, Never:
		return nil
	}
	return usage(fmt.Sprintf("--%s is %q", flag, mode), "give auto, always or never")
}

// price is the most per GPU-hour; 0 for the model's reference price.
func (r *Request) price() (market.PricePerHour, error) {
	if r.MaxPrice == "" {
		return 0, nil
	}
	p, err := market.ParsePrice(r.MaxPrice)
	if err != nil {
		return 0, usage("--max-price: "+err.Error(), "")
	}
	if p == 0 {
		return 0, usage("--max-price is 0", "give a price greater than zero, in USDC per GPU-hour")
	}
	return p, nil
}
