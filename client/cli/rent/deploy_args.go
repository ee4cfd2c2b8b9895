package rent

import (
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Flags of deploy that other files name.
const (
	flagVerify         = "verify"
	flagInspect        = "inspect"
	flagAttest         = "attest"
	flagGuest          = "guest"
	flagCollateral     = "collateral"
	flagVolume         = "volume"
	flagBackup         = "backup"
	flagBackupEndpoint = "backup-endpoint"
	flagBackupEvery    = "backup-every"
	flagRestore        = "restore"
	flagEntrypoint     = "entrypoint"
	flagUser           = "user"
	flagFile           = "file"

	flagRegistryUser     = "registry-user"
	flagRegistryPassword = "registry-password"
	envRegistryPassword  = "GANTRY_REGISTRY_PASSWORD"
)

func deployCommand(s command.Streams) *cli.Command {
	return &cli.Command{
		Name: "deploy", Usage: "buy compute and run a command on it", ArgsUsage: "-- COMMAND…",
		Description: "Reserves max price × GPUs × nodes × time, waits for the award, brings the command to the machines, shows its\n" +
			"output and signs receipts while it stays. What is not used goes back to your credits. If the command\n" +
			"dies, continue with gantry resume, or repeat it with the same --name.",
		Flags: append(append(append(command.AsSession(durationFlags()...), backupFlags()...), templateFlags()...),
			&cli.StringFlag{Name: flagFile, Aliases: []string{"f"}, Usage: "what to buy and run: a `FILE` in YAML such as examples/task.yaml, or - for standard input. Other flags count more"},
			&cli.StringFlag{Name: "gpu", Usage: "GPU `MODEL` or part of its name, such as A100, rtx4090, A100:4 for four on each node, or any; of several models keepers award the best machine"},
			&cli.UintFlag{Name: "count", Aliases: []string{"gpus"}, Value: 1, Usage: "GPUs on each node, 1 to 8"},
			&cli.UintFlag{Name: "nodes", Value: 1, Usage: "nodes, all or nothing"},
			&cli.UintFlag{Name: "min-nodes", Usage: "while this command stays: when fewer than `N` of the --nodes run for ten minutes, end the others (default: any number may run)"},
			&cli.StringFlag{Name: "region", Usage: "`PREFIX` of the region, such as us or us-west"},
			&cli.StringFlag{Name: "max-price", Usage: "the most `USDC` per GPU-hour (default: the model's reference price)"},
			&cli.BoolFlag{Name: "run-to-completion", Aliases: []string{"job"}, Usage: "the lease ends with the command"},
			&cli.UintFlag{Name: "redundancy", Usage: "run the command on `N` machines of different owners: 3, 5 or 7; you pay for all, and only machines whose output matches the majority are paid"},
			&cli.StringFlag{Name: "rerun", Usage: "run the same redundant job as `ORDER` again, on machines of other owners, and compare the outputs; give the same command"},
			&cli.StringFlag{Name: "name", Usage: "`NAME` of this purchase: a repeated command with it continues what was begun, and buys nothing twice"},
			&cli.BoolFlag{Name: "migrate", Usage: "when a machine fails, start the command anew on another for the time that is left; needs this command to stay"},
			&cli.BoolFlag{Name: "until-stopped", Usage: "while this command stays, pay for as much time again before it ends, until you stop the lease or --budget is used up"},
			&cli.StringFlag{Name: "budget", Usage: "with --until-stopped: the most `USDC` that the purchase may cost (default: what is free in your credits)"},
			&cli.BoolFlag{Name: "detach", Aliases: []string{"d"}, Usage: "return once it runs; keepers' reports settle it"},
			&cli.BoolFlag{Name: "allow-simulated", Usage: "simulated GPUs will do (local networks)"},
			&cli.StringFlag{Name: "min-uptime", Usage: "`PERCENT`"},
			&cli.StringFlag{Name: "min-reputation", Usage: "`PERCENT`"},
			&cli.UintFlag{Name: "min-vram", Usage: "`GIB` per GPU, as it is sold; drivers show up to 7 % less"},
			&cli.UintFlag{Name: "min-tflops", Usage: "dense FP16 `TFLOPS` of the model's data sheet, at least; with --gpu any or a family"},
			&cli.StringFlag{Name: "min-tops", Usage: "int8 `TOPS` that keepers have measured of each GPU, at least"},
			&cli.StringFlag{Name: "min-bandwidth", Usage: "`GB/S` of memory that keepers have measured of each GPU, at least"},
			&cli.StringFlag{Name: "min-down", Usage: "`MBIT/S` to the machine that keepers have measured, at least"},
			&cli.StringFlag{Name: "min-up", Usage: "`MBIT/S` from the machine that keepers have measured, at least"},
			&cli.UintFlag{Name: "min-tier", Usage: "evidence tier, 0 to 3"},
			&cli.StringFlag{Name: "link", Usage: "pcie, nvlink or nvswitch, at least"},
			&cli.BoolFlag{Name: "guaranteed", Usage: "only nodes whose uptime guarantee covers the order's latest end"},
			&cli.BoolFlag{Name: "spot", Usage: "interruptible, at machines' spot prices: a machine may end the lease after a notice of two minutes, ten minutes after its start at the earliest"},
			&cli.BoolFlag{Name: "retry", Usage: "while this command stays: when the machine leaves by notice before the job has ended, order again for the time that is left"},
			&cli.BoolFlag{Name: "same-site", Usage: "all nodes of the order stand at one site"},
			&cli.StringFlag{Name: "image", Usage: "run a container of this `IMAGE`; a tag is resolved to a digest before the order"},
			&cli.BoolFlag{Name: "unrecorded", Usage: "ask machines to keep no public record of how the --image started"},
			&cli.StringFlag{Name: flagEntrypoint, Usage: "`PROGRAM` of the container in place of the image's entry point and command; its arguments come after --"},
			&cli.StringFlag{Name: flagUser, Aliases: []string{"u"}, Usage: "`NAME[:GROUP]` or numbers: user of the container's program (default: the image's)"},
			&cli.StringFlag{Name: "registry-credentials", Usage: "`WHAT` the machine gets for an image that is not public: token (made with docker's credentials; it can read the repository for minutes), or password if the registry has no tokens"},
			&cli.StringFlag{Name: flagRegistryUser, Usage: "`NAME` at the registry of an image that is not public, in place of docker's login; the machine gets a token. The password is kept on this computer until the purchase is over"},
			&cli.StringFlag{Name: flagRegistryPassword, EnvVars: []string{envRegistryPassword}, Usage: "`PASSWORD` or access token of --registry-user; on a command line other users see it"},
			&cli.StringFlag{Name: "network", Value: messages.NetworkInternet, Usage: "`WHAT` the container of --image reaches: internet, or none; never the machine, its network or other leases"},
			&cli.StringSliceFlag{Name: flagSSHKey, Usage: "public key `FILE` that may log in to the container, besides the key that gantry has made; repeat"},
			&cli.StringFlag{Name: flagVolume, Usage: "`NAME:SIZE[:PATH]` such as data:50GiB: an encrypted file system for the container of --image, at /NAME or PATH, as long as the job runs, or longer with --keep"},
			&cli.BoolFlag{Name: "keep", Usage: "keep the --volume in your bucket under its name: the next lease with it begins with what this one has left, and needs no size. The bucket is GANTRY_BUCKET, that of the context, or --backup. See: gantry volume"},
			&cli.StringSliceFlag{Name: flagPort, Aliases: []string{"p"}, Usage: "`PORT[:NAME]` of the container: the gateway of --via gives it a public https address that begins with NAME. Without a gateway, this command forwards it to this machine while it stays, at a port of PORT:LOCAL; repeat"},
			&cli.StringFlag{Name: flagVia, Usage: "`GATEWAY` that makes each --port public when the lease runs: its key, its address with its identity, none, or auto: the cheapest and nearest that keepers know (default: GANTRY_GATEWAY, then the context, then auto; none where a --port names a port of this machine)"},
			&cli.StringSliceFlag{Name: "env", Aliases: []string{"e"}, Usage: "`NAME=VALUE` for the command; repeat"},
			&cli.GenericFlag{Name: "memory", Value: new(service.Size), Usage: "`SIZE` of memory that the job gets, such as 64g; only machines whose share has it (default: the share that comes with its GPUs)"},
			&cli.UintFlag{Name: "cpus", Usage: "`N` processor threads that the job gets; as --memory"},
			&cli.GenericFlag{Name: "shm-size", Value: new(service.Size), Usage: "`SIZE` of the container's /dev/shm, such as 16g (default: half of its memory)"},
			&cli.GenericFlag{Name: "disk", Value: new(service.Size), Usage: "`SIZE` of disk for the container's files, such as 100g; as --memory. A --volume and the image come on top"},
			&cli.StringFlag{Name: "cuda", Usage: "`VERSION` of CUDA that the machine's driver has at least, such as 12.8 (default: what the image's NVIDIA_REQUIRE_CUDA says)"},
			&cli.StringFlag{Name: "compute-capability", Usage: "`VERSION` of the GPUs' compute capability, at least, such as 8.9; with --gpu any or a family. What the image needs counts too"},
			&cli.BoolFlag{Name: "sealed", Usage: "let nodes bid in a sealed second-price auction instead of taking the standing asks"},
			&cli.UintFlag{Name: "auction-secs", Value: buy.DefaultAuctionSecs, Usage: "with --sealed: `SECONDS` for commitments, 5 to 86400"},
			&cli.UintFlag{Name: "reveal-secs", Value: buy.DefaultRevealSecs, Usage: "with --sealed: `SECONDS` after that for reveals, 5 to 3600"},
			&cli.StringFlag{Name: flagVerify, Value: buy.Auto, Usage: "`WHEN` to measure the machine before it is paid, while it fetches the image: auto (if its figure is old, and one lease in eight), always or never. If the machine does not pass, the client ends the lease"},
			&cli.StringFlag{Name: flagInspect, Value: buy.Never, Usage: "`WHEN` to measure the machine once more, at a random moment of the lease: auto (one lease in eight), always or never. Costs the job some memory and a few seconds. A lease whose machine fails is ended. Only while this command is attached"},
			&cli.StringFlag{Name: flagAttest, Usage: "policy `FILE` that each machine must satisfy before anything of the job is sent; a machine that does not is sent nothing, and its lease is ended. See docs/operate/attest.md"},
			&cli.BoolFlag{Name: flagGuest, Usage: "run the container of --image in a measured guest that the machine starts for it: a virtual machine without a GPU, whose image --attest names. The job is sealed to it, and output and exit code for you. See docs/operate/guest.md"},
			&cli.StringFlag{Name: flagCollateral, Usage: "`FOLDER` with the certificates and lists that --attest needs"},
			&cli.DurationFlag{Name: "receipt-every", Value: buy.DefaultReceiptEvery, Usage: "how often receipts are signed while attached"},
		),
		Action: action(s, (*session).deploy),
	}
}

func durationFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "duration", Usage: "`TIME` such as 90m or 24h"},
		&cli.Float64Flag{Name: "hours", Usage: "such as 2 or 0.5"}, &cli.UintFlag{Name: "minutes"}, &cli.UintFlag{Name: "seconds"},
	}
}

// duration adds up the flags for time. none says that no flag was given.
func (s *session) duration() (secs uint32, none bool, err error) {
	if !s.CLI.IsSet("hours") && !s.CLI.IsSet("minutes") && !s.CLI.IsSet("seconds") && !s.CLI.IsSet("duration") {
		return 0, true, nil
	}
	secs, err = service.Duration{
		Hours: s.CLI.Float64("hours"), Minutes: s.CLI.Uint("minutes"), Seconds: s.CLI.Uint("seconds"), Text: s.CLI.String("duration"),
	}.Secs()
	return secs, false, err
}

func backupFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagBackup, Usage: "keep encrypted snapshots of the --volume in `s3://BUCKET/FOLDER`, at the job's end. The machine gets the credentials of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or of ~/.aws/credentials. Use credentials that open only this folder"},
		backupEndpointFlag(),
		&cli.DurationFlag{Name: flagBackupEvery, Usage: "also a snapshot ten seconds after the start and every `TIME`, for which the job is frozen, at least 1m"},
		&cli.StringFlag{Name: flagRestore, Usage: "begin with the snapshot `HASH` of the --backup: a volume, or a container that gantry suspend has kept, which continues with its memory and processes"},
	}
}

func backupEndpointFlag() cli.Flag {
	return &cli.StringFlag{Name: flagBackupEndpoint, Usage: "`URL` of the S3 server, if it is not Amazon's", EnvVars: []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}}
}
