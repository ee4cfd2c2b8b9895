package rent

import (
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/gantry-market/gantry/client/attestation"
	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/catalogue"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// request is what the flags of deploy ask for.
func (s *session) request() (buy.Request, error) {
	r := buy.Request{
		GPU: s.CLI.String("gpu"), Region: s.CLI.String("region"), MaxPrice: s.CLI.String("max-price"), Image: s.CLI.String("image"), Unrecorded: s.CLI.Bool("unrecorded"),
		Command: s.CLI.Args().Slice(), Volume: s.CLI.String(flagVolume), Keep: s.CLI.Bool("keep"), MinMemory: s.CLI.Uint("min-vram"), RunToCompletion: s.CLI.Bool("run-to-completion"),
		AllowSimulated: s.CLI.Bool("allow-simulated"), Inspect: s.CLI.String(flagInspect), MinUptime: s.CLI.String("min-uptime"), MinReputation: s.CLI.String("min-reputation"),
		Link: s.CLI.String("link"), Guaranteed: s.CLI.Bool("guaranteed"), SameSite: s.CLI.Bool("same-site"), Spot: s.CLI.Bool("spot"), Retry: s.CLI.Bool("retry"),
		Sealed: s.CLI.Bool("sealed"), Guest: s.CLI.Bool(flagGuest), Verify: s.CLI.String(flagVerify), Name: s.CLI.String("name"), Rerun: s.CLI.String("rerun"),
		Migrate: s.CLI.Bool("migrate"), Detach: s.CLI.Bool("detach"), UntilStopped: s.CLI.Bool("until-stopped"), Budget: s.CLI.String("budget"), ReceiptEvery: s.CLI.Duration("receipt-every"), Registry: s.CLI.String("registry-credentials"),
		RegistryUser: s.CLI.String(flagRegistryUser), RegistryPass: s.password(),
		Backup: s.CLI.String(flagBackup), BackupEndpoint: s.CLI.String(flagBackupEndpoint), BackupEvery: s.CLI.Duration(flagBackupEvery), Restore: s.CLI.String(flagRestore),
		Entrypoint: s.CLI.String(flagEntrypoint), User: s.CLI.String(flagUser), Shm: s.size("shm-size"), MinTFLOPS: s.number("min-tflops"),
	}
	r.Share = service.Share{CPUs: s.number("cpus"), Memory: s.size("memory"), Disk: s.size("disk"), CUDA: s.CLI.String("cuda"), Compute: s.CLI.String("compute-capability")}
	r.MinTOPS, r.MinBandwidth = s.CLI.String("min-tops"), s.CLI.String("min-bandwidth")
	if s.CLI.IsSet("network") { // its default is said in the help
		r.Network = s.CLI.String("network")
	}
	for _, fill := range []func(*buy.Request) error{s.notEmpty, s.numbers, s.environment, s.entrypoint, s.policy, s.task, s.fillIn, s.fillPorts} {
		if err := fill(&r); err != nil {
			return r, err
		}
	}
	r.KeepIn(s.keptIn())
	if err := r.Check(); err != nil {
		return r, err
	}
	var err error
	if (r.Image != "" || r.Restore != "") && !r.Guest { // a guest has no shell
		r.SSHKeys, err = s.jobKeys()
	}
	return r, err
}

// size is a flag's size in MiB, rounded up.
func (s *session) size(flag string) uint64 { return s.CLI.Generic(flag).(*service.Size).MiB() }

// notEmpty refuses values that are given and empty, such as those of a shell's variable that is not set.
func (s *session) notEmpty(*buy.Request) (err error) {
	for flag, read := range map[string]func() error{
		flagVolume: func() error { _, err := messages.ParseVolume(""); return err },
		flagBackup: func() error { _, err := buy.BucketFolder("", ""); return err },
		"network":  func() error { return errors.New("say internet or none") },
		flagUser:   func() error { return errors.New("write a name or a number, such as root or 1000:1000") },
	} {
		if s.CLI.IsSet(flag) && s.CLI.String(flag) == "" {
			return service.Usage(fmt.Sprintf("--%s: %v", flag, read()), "")
		}
	}
	return nil
}

// numbers reads flags for which a zero that is given is not the default.
func (s *session) numbers(r *buy.Request) (err error) {
	if r.Seconds, _, err = s.duration(); err != nil {
		return err
	}
	for _, f := range []struct {
		flag   string
		into   *uint8
		least  uint
		advice string
	}{
		{"count", &r.Count, 1, "a node has 1 to 8 GPUs; use --nodes for more"},
		{"nodes", &r.Nodes, 1, "an order is over 1 to 64 nodes"},
		{"min-nodes", &r.MinNodes, 0, "0 is for any number"},
		{"redundancy", &r.Redundancy, market.MinRedundancy, "outputs are compared of 3, 5 or 7 machines"},
		{"min-tier", &r.MinTier, 0, "tiers are 0 to 3"},
	} {
		n := s.CLI.Uint(f.flag)
		switch {
		case !s.CLI.IsSet(f.flag):
		case n < f.least || n > 255:
			return service.Usage(fmt.Sprintf("--%s is %d", f.flag, n), f.advice)
		default:
			*f.into = uint8(n)
		}
	}
	if model, n, err := service.ParseGPU(r.GPU, r.Count); err == nil && s.CLI.IsSet("count") && n != r.Count {
		return service.Usage(fmt.Sprintf("--gpu %s and --count %d say two numbers of GPUs", r.GPU, r.Count), "write --gpu "+model+" --count "+fmt.Sprint(n))
	}
	for _, f := range []struct {
		flag        string
		into        *uint32
		least, most uint
	}{
		{"auction-secs", &r.AuctionSecs, market.AuctionSecsMin, market.AuctionSecsMax},
		{"reveal-secs", &r.RevealSecs, market.RevealSecsMin, market.RevealSecsMax},
	} {
		n := s.CLI.Uint(f.flag)
		switch {
		case !s.CLI.IsSet(f.flag):
		case n < f.least || n > f.most:
			return service.Usage(fmt.Sprintf("--%s is %d", f.flag, n), fmt.Sprintf("give %d to %d seconds", f.least, f.most))
		default:
			*f.into = uint32(n)
		}
	}
	for flag, into := range map[string]*uint32{"min-down": &r.MinDown, "min-up": &r.MinUp} {
		if text := s.CLI.String(flag); text != "" {
			if *into, err = service.ParseMbps(text); err != nil {
				return service.Usage("--"+flag+": "+err.Error(), "")
			}
		}
	}
	if s.CLI.IsSet("nodes") && (s.CLI.IsSet("redundancy") || s.CLI.IsSet("rerun")) {
		return service.Usage("--redundancy says how many machines there are", "leave --nodes out")
	}
	return nil
}

// number is a flag's number, or the greatest that fits, which the purchase refuses.
func (s *session) number(flag string) uint32 {
	return uint32(min(s.CLI.Uint(flag), math.MaxUint32))
}

// environment reads the job's.
func (s *session) environment(r *buy.Request) (err error) {
	r.Env, err = buy.ParseEnv(s.CLI.StringSlice("env"))
	return err
}

// policy reads what machines must prove before they get the job.
func (s *session) policy(r *buy.Request) error {
	file := s.CLI.String(flagAttest)
	if file == "" {
		return nil
	}
	d, err := attestation.ReadDocument(file, s.CLI.String(flagCollateral), s.Streams.In)
	if err != nil {
		return service.OfFlag(flagAttest, err)
	}
	raw, err := d.Encode()
	r.Attest = string(raw)
	return err
}

// task puts what a file says in place of what the flags do not say.
func (s *session) task(r *buy.Request) error {
	path := s.CLI.String(flagFile)
	if path == "" {
		return nil
	}
	base, err := buy.ReadTask(path, s.Streams.In)
	for flag, into := range map[string]*string{flagVerify: &r.Verify, flagInspect: &r.Inspect} {
		if !s.CLI.IsSet(flag) { // their defaults say nothing
			*into = ""
		}
	}
	*r = r.Over(base)
	return err
}

// entrypoint reads an empty --entrypoint.
func (s *session) entrypoint(r *buy.Request) error {
	if !s.CLI.IsSet(flagEntrypoint) || r.Entrypoint != "" {
		return nil
	}
	return r.WithoutEntrypoint()
}

// fillIn puts what a template or a model says in place of what the flags do not say.
func (s *session) fillIn(r *buy.Request) error {
	set, err := parseSet(s.CLI.StringSlice(flagSet))
	if err != nil {
		return err
	}
	j, err := catalogue.Job(s.CLI.String(flagTemplate), s.CLI.String(flagModel), catalogue.Wanted{Set: set, GPU: r.GPU, Count: r.Count, Guest: r.Guest})
	if err != nil || j == nil {
		return err
	}
	return r.Fill(j)
}

// password is that of --registry-user. One from the environment means nothing to a purchase that names no user.
func (s *session) password() string {
	given := s.CLI.String(flagRegistryPassword)
	if s.CLI.String(flagRegistryUser) == "" && given == os.Getenv(envRegistryPassword) {
		return ""
	}
	return given
}
