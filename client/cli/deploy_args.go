package cli

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/audit"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
)

func deployCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name: "deploy", Usage: "buy compute and run a command on it", ArgsUsage: "-- COMMAND…",
		Description: "Reserves max price × GPUs × nodes × time, waits for the award, brings the command to the machines, shows its\n" +
			"output and signs receipts while it stays. What is not used goes back to your credits. If the command\n" +
			"dies, continue with gantry resume, or repeat it with the same --name.",
		Flags: append(append(append(asSession(durationFlags()...), backupFlags()...), templateFlags()...),
			&cli.StringFlag{Name: "gpu", Usage: "GPU `MODEL` or part of its name, such as A100, rtx4090, A100:4 for four on each node, or any; of several models the one with the best offer"},
			&cli.UintFlag{Name: "count", Value: 1, Usage: "GPUs on each node, 1 to 8"},
			&cli.UintFlag{Name: "nodes", Value: 1, Usage: "nodes, all or nothing"},
			&cli.StringFlag{Name: "region", Usage: "`PREFIX` of the region, such as us or us-west"},
			&cli.StringFlag{Name: "max-price", Usage: "the most `USDC` per GPU-hour (default: the model's reference price)"},
			&cli.BoolFlag{Name: "run-to-completion", Aliases: []string{"job"}, Usage: "the lease ends with the command"},
			&cli.UintFlag{Name: "redundancy", Usage: "run the command on `N` machines of different owners, 3 to 8; only machines whose output matches the majority are paid"},
			&cli.StringFlag{Name: "rerun", Usage: "run the same redundant job as `ORDER` again, on machines of other owners, and compare the outputs; give the same command"},
			&cli.StringFlag{Name: "name", Usage: "`NAME` of this purchase: a repeated command with it goes on with what was begun, and buys nothing twice"},
			&cli.BoolFlag{Name: "migrate", Usage: "when a machine fails, start the command anew on another for the time that is left; needs this command to stay"},
			&cli.BoolFlag{Name: "detach", Aliases: []string{"d"}, Usage: "return once it runs; keepers' reports settle it"},
			&cli.BoolFlag{Name: "allow-simulated", Usage: "simulated GPUs will do (local networks)"},
			&cli.StringFlag{Name: "min-uptime", Usage: "`PERCENT`"},
			&cli.StringFlag{Name: "min-reputation", Usage: "`PERCENT`"},
			&cli.UintFlag{Name: "min-vram", Usage: "`GIB` per GPU, as it is sold; drivers show up to 7 % less"},
			&cli.StringFlag{Name: "min-tops", Usage: "int8 `TOPS` that keepers have measured of each GPU, at least"},
			&cli.StringFlag{Name: "min-bandwidth", Usage: "`GB/S` of memory that keepers have measured of each GPU, at least"},
			&cli.StringFlag{Name: "min-down", Usage: "`MBIT/S` to the machine that keepers have measured, at least"},
			&cli.StringFlag{Name: "min-up", Usage: "`MBIT/S` from the machine that keepers have measured, at least"},
			&cli.UintFlag{Name: "min-tier", Usage: "evidence tier, 0 to 3"},
			&cli.StringFlag{Name: "link", Usage: "pcie, nvlink or nvswitch, at least"},
			&cli.BoolFlag{Name: "guaranteed", Usage: "only nodes whose uptime guarantee covers the order's latest end"},
			&cli.BoolFlag{Name: "same-site", Usage: "all nodes of the order stand at one site"},
			&cli.StringFlag{Name: "image", Usage: "run a container of this `IMAGE`; a tag is resolved to a digest before the order"},
			&cli.StringFlag{Name: "registry-credentials", Usage: "for an image that is not public: give the machine a `token` that reads its repository for minutes, made with docker's credentials; or the password, where the registry has no tokens"},
			&cli.StringFlag{Name: "network", Value: messages.NetworkInternet, Usage: "what the container of --image reaches: `internet`, or none; never the machine, its network or other leases"},
			&cli.StringSliceFlag{Name: flagSSHKey, Usage: "public key `FILE` that may log in to the container, beside the key that gantry has made; repeat"},
			&cli.StringFlag{Name: flagVolume, Usage: "`NAME:SIZE[:PATH]` such as data:50GiB: an encrypted file system for the container of --image, at /NAME or PATH, as long as the job runs"},
			&cli.StringSliceFlag{Name: flagPort, Aliases: []string{"p"}, Usage: "`PORT[:LOCAL]` of the container: this command forwards it to this machine while it stays; repeat"},
			&cli.StringSliceFlag{Name: "env", Aliases: []string{"e"}, Usage: "`NAME=VALUE` for the command; repeat"},
			&cli.Uint64Flag{Name: "memory", Usage: "memory limit in `MIB`"},
			&cli.UintFlag{Name: "cpus", Usage: "CPU limit"},
			&cli.Uint64Flag{Name: "disk", Usage: "disk limit in `MIB`"},
			&cli.BoolFlag{Name: "sealed", Usage: "let nodes bid in a sealed second-price auction instead of taking the standing asks"},
			&cli.UintFlag{Name: "auction-secs", Value: 30, Usage: "with --sealed: `SECONDS` for commitments, 5 to 86400"},
			&cli.UintFlag{Name: "reveal-secs", Value: 15, Usage: "with --sealed: `SECONDS` after that for reveals, 5 to 3600"},
			&cli.StringFlag{
				Name: flagVerify, Value: verifyAuto,
				Usage: "measure the machine before it is paid, while it fetches the image: auto (if its figure is old, and one lease in eight), always or `never`; a lease whose machine does not pass is ended",
			},
			&cli.StringFlag{
				Name: flagInspect, Value: verifyNever,
				Usage: "re-measure the machine once at a random moment of the lease: `auto` (one lease in eight), always or never. Costs the job some memory and a few seconds. A lease whose machine fails is ended. Only while this command is attached",
			},
			&cli.DurationFlag{Name: "receipt-every", Value: 3 * time.Second, Usage: "how often receipts are signed while attached"},
		),
		Action: action(s, (*session).deploy),
	}
}

func durationFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "duration", Usage: "`TIME` such as 90m or 24h"},
		&cli.UintFlag{Name: "hours"}, &cli.UintFlag{Name: "minutes"}, &cli.UintFlag{Name: "seconds"},
	}
}

// duration adds up the flags for time. none says that no flag was given.
func (s *session) duration() (secs uint32, none bool, err error) {
	total := uint64(s.cli.Uint("hours"))*3600 + uint64(s.cli.Uint("minutes"))*60 + uint64(s.cli.Uint("seconds"))
	none = !s.cli.IsSet("hours") && !s.cli.IsSet("minutes") && !s.cli.IsSet("seconds") && !s.cli.IsSet("duration")
	if text := s.cli.String("duration"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || d%time.Second != 0 {
			return 0, false, usage(fmt.Sprintf("%q is not a time in whole seconds", text), "write it as 90s, 45m or 24h")
		}
		total += uint64(d / time.Second)
	}
	if none {
		return 0, true, nil
	}
	if total == 0 || total > market.MaxDurationSecs {
		return 0, false, usage(fmt.Sprintf("the time is %d seconds", total), "give from one second up to one year")
	}
	return uint32(total), false, nil
}

// request is an order as the flags describe it, checked.
type request struct {
	args    ix.OrderCreateArgs
	job     messages.JobSpec
	model   market.Model
	cost    market.USDC // what is reserved
	noPrice bool        // the reference price was taken
	noTime  bool        // the default time was taken
	// auction and reveal are the windows of a sealed order, seconds; 0 for instant ones.
	auction, reveal uint32
	// first is the run of the same job that this one is compared with; nil for none.
	first *audit.Run
	// backup is where snapshots of the job's volume go, without what opens it; nil for none.
	backup *messages.Backup
	// template is what the flags were filled in from; nil for none, and for a purchase that goes on.
	template *template.Job
}

// request reads the flags of deploy. All of them are checked before a transaction is sent.
func (s *session) request(v *view.View) (request, error) {
	var r request
	command, filled, err := s.fillIn(s.cli.Args().Slice())
	if err != nil {
		return r, err
	}
	r.template = filled
	if len(command) == 0 && s.cli.String("image") == "" && !s.cli.IsSet(flagRestore) {
		return r, usage("there is no command to run", "write it after --, such as: gantry deploy --gpu A100 --minutes 10 -- python train.py")
	}
	if s.cli.String("gpu") == "" {
		return r, usage("--gpu is missing", "name a model; see: gantry search")
	}
	if err := s.checkMeasuring(); err != nil {
		return r, err
	}
	if err := s.checkPorts(); err != nil {
		return r, err
	}
	gpu, count, nodes, err := s.machines()
	if err != nil {
		return r, err
	}
	secs, none, err := s.duration()
	if err != nil {
		return r, err
	}
	if none {
		secs, r.noTime = uint32(defaultTime/time.Second), true
	}
	if text := s.cli.String("max-price"); text != "" {
		if r.args.MaxPrice, err = market.ParsePrice(text); err != nil {
			return r, usage("--max-price: "+err.Error(), "")
		}
		if r.args.MaxPrice == 0 {
			return r, usage("--max-price is 0", "give a price greater than zero, in USDC per GPU-hour")
		}
	}
	if err = s.jobAndBackup(&r, command); err != nil {
		return r, err
	}
	if r.args.Requirement, err = s.requirement(); err != nil {
		return r, err
	}
	if r.job.Salt, err = s.salt(v); err != nil {
		return r, err
	}
	if r.args.JobDigest, err = r.job.Digest(); err != nil {
		return r, err
	}
	r.args.Duration, r.args.GPUsPerNode, r.args.Nodes = secs, uint8(count), uint8(nodes)
	r.args.RunToCompletion = s.cli.Bool("run-to-completion")
	// A moved lease costs money from its start on, and a client must bring the job to the new machine: so a lease moves
	// only with
	// --migrate, and only while this command attends it.
	r.args.NoMigration = !s.cli.Bool("migrate")
	if !r.args.NoMigration && s.cli.Bool("detach") {
		return r, usage("--migrate needs somebody who brings the command to the new machine", "leave --detach out")
	}
	if err := s.sealed(&r); err != nil {
		return r, err
	}
	if r.first, err = s.firstRun(v, r.args.JobDigest); err != nil {
		return r, err
	}
	if err := s.redundant(&r); err != nil {
		return r, err
	}
	if err := s.chooseModel(&r, v, gpu); err != nil {
		return r, err
	}
	if r.cost, err = market.OrderCost(r.args.MaxPrice, r.args.GPUsPerNode, secs, r.args.Nodes); err != nil {
		return r, usage("the cost of the order overflows", "lower --max-price or the time")
	}
	return r, nil
}

// jobAndBackup reads what runs, and where snapshots of it go.
func (s *session) jobAndBackup(r *request, command []string) error {
	backup, saved, err := s.backup()
	if err != nil {
		return err
	}
	if saved != nil {
		if command, err = s.goOn(*saved, command); err != nil {
			return err
		}
	}
	if r.job, err = s.job(command); err != nil {
		return err
	}
	if saved != nil {
		r.job.Env = saved.Env
	}
	if r.backup = backup; backup != nil && r.job.Volume == nil {
		return usage("--restore is for volumes", "name one, such as --volume data:50GiB")
	}
	return nil
}

// redundant reads the flag of jobs whose outputs are compared.
func (s *session) redundant(r *request) error {
	n := s.cli.Uint("redundancy")
	if r.first != nil && !s.cli.IsSet("redundancy") {
		n = uint(r.first.Args.Nodes)
	}
	switch {
	case n == 0 && !s.cli.IsSet("redundancy"):
		return nil
	case n < market.MinRedundancy || n > market.MaxRedundancy:
		return usage(fmt.Sprintf("--redundancy is %d", n), "outputs are compared of 3 to 8 machines")
	case s.cli.IsSet("nodes"):
		return usage("--redundancy says how many machines there are", "leave --nodes out")
	case !r.args.NoMigration:
		return usage("a redundant job stays where it is", "leave --migrate out")
	case r.args.Sealed:
		return usage("an auction does not spread machines over owners", "leave --sealed out")
	}
	r.args.Redundant, r.args.RunToCompletion, r.args.Nodes = true, true, uint8(n)
	return nil
}

// sealed reads the flags of auctions.
func (s *session) sealed(r *request) error {
	if !s.cli.Bool("sealed") {
		if s.cli.IsSet("auction-secs") || s.cli.IsSet("reveal-secs") {
			return usage("--auction-secs and --reveal-secs are for sealed orders", "add --sealed")
		}
		return nil
	}
	auction, reveal := s.cli.Uint("auction-secs"), s.cli.Uint("reveal-secs")
	switch {
	case s.cli.IsSet("redundancy") || s.cli.IsSet("rerun"):
		return usage("a sealed order cannot be redundant: the best bids may be one owner's", "leave --sealed or --redundancy out")
	case auction < market.AuctionSecsMin || auction > market.AuctionSecsMax:
		return usage(fmt.Sprintf("--auction-secs is %d", auction), fmt.Sprintf("give %d to %d seconds", market.AuctionSecsMin, market.AuctionSecsMax))
	case reveal < market.RevealSecsMin || reveal > market.RevealSecsMax:
		return usage(fmt.Sprintf("--reveal-secs is %d", reveal), fmt.Sprintf("give %d to %d seconds", market.RevealSecsMin, market.RevealSecsMax))
	case r.args.Nodes > market.MaxSealedNodes:
		return usage(fmt.Sprintf("--nodes is %d", r.args.Nodes), fmt.Sprintf("a sealed order is over at most %d nodes", market.MaxSealedNodes))
	}
	r.args.Sealed, r.auction, r.reveal = true, uint32(auction), uint32(reveal)
	return nil
}

func (s *session) job(command []string) (messages.JobSpec, error) {
	job := messages.JobSpec{
		Version: messages.Version, Image: s.cli.String("image"), Command: command,
		MemoryMiB: s.cli.Uint64("memory"), CPUs: uint32(s.cli.Uint("cpus")), DiskMiB: s.cli.Uint64("disk"),
	}
	if err := s.isolated(job); err != nil {
		return job, err
	}
	if err := s.volume(&job); err != nil {
		return job, err
	}
	if job.Image != "" {
		mode := s.cli.String("registry-credentials")
		if err := checkCredentialMode(mode); err != nil {
			return job, err
		}
		resolved, err := resolveImage(s.ctx, job.Image, mode)
		if err != nil {
			return job, err
		}
		job.Image = resolved
		if _, err := registryCredential(s.ctx, job.Image, mode); err != nil {
			return job, err // before money moves
		}
		if !s.cli.IsSet("redundancy") && !s.cli.IsSet("rerun") { // outputs that are compared are made without visitors
			if job.SSHKeys, err = s.jobKeys(); err != nil {
				return job, err
			}
		}
	}
	if err := s.network(&job); err != nil {
		return job, err
	}
	job.Env = maps.Clone(s.env)
	for _, pair := range s.cli.StringSlice("env") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return job, usage(fmt.Sprintf("--env %q is not NAME=VALUE", pair), "")
		}
		if job.Env == nil {
			job.Env = map[string]string{}
		}
		job.Env[name] = value
	}
	return job, nil
}

// isolated refuses a job without an image where machines run containers only: everywhere but on a local network.
func (s *session) isolated(job messages.JobSpec) error {
	public, err := s.client.Public(s.ctx)
	if err != nil || job.Image != "" || (!public && s.client.Local()) {
		return err
	}
	return usage("machines run a command without an image on local networks only, because nothing isolates it", "name an --image, such as --image debian:12")
}

// network reads what a container may reach.
func (s *session) network(job *messages.JobSpec) error {
	kind := s.cli.String("network")
	switch {
	case kind != messages.NetworkInternet && kind != "none":
		return usage(fmt.Sprintf("--network %q is not known", kind), "say internet or none")
	case job.Image == "" && s.cli.IsSet("network"):
		return usage("--network is for containers", "name an --image, or leave --network out")
	case job.Image != "" && kind != "none":
		job.Network = kind
	}
	return nil
}
