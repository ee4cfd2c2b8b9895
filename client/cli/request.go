package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// request is what the flags of deploy ask for.
func (s *session) request() (buy.Request, error) {
	r := buy.Request{
		GPU: s.cli.String("gpu"), Region: s.cli.String("region"), MaxPrice: s.cli.String("max-price"), Image: s.cli.String("image"),
		Command: s.cli.Args().Slice(), Volume: s.cli.String(flagVolume), MinMemory: s.cli.Uint("min-vram"), RunToCompletion: s.cli.Bool("run-to-completion"),
		AllowSimulated: s.cli.Bool("allow-simulated"), Inspect: s.cli.String(flagInspect), MinUptime: s.cli.String("min-uptime"), MinReputation: s.cli.String("min-reputation"),
		Link: s.cli.String("link"), Guaranteed: s.cli.Bool("guaranteed"), SameSite: s.cli.Bool("same-site"), Memory: s.cli.Uint64("memory"), CPUs: uint32(s.cli.Uint("cpus")),
		Disk: s.cli.Uint64("disk"), Sealed: s.cli.Bool("sealed"), Verify: s.cli.String(flagVerify), Name: s.cli.String("name"), Rerun: s.cli.String("rerun"),
		Migrate: s.cli.Bool("migrate"), Detach: s.cli.Bool("detach"), ReceiptEvery: s.cli.Duration("receipt-every"), Registry: s.cli.String("registry-credentials"),
		Backup: s.cli.String(flagBackup), BackupEndpoint: s.cli.String(flagBackupEndpoint), BackupEvery: s.cli.Duration(flagBackupEvery), Restore: s.cli.String(flagRestore),
		Entrypoint: s.cli.String(flagEntrypoint), User: s.cli.String(flagUser),
	}
	r.MinTOPS, r.MinBandwidth = s.cli.String("min-tops"), s.cli.String("min-bandwidth")
	if s.cli.IsSet("network") { // its default is said in the help
		r.Network = s.cli.String("network")
	}
	for _, fill := range []func(*buy.Request) error{s.notEmpty, s.numbers, s.environment, s.entrypoint, s.fillIn, s.fillPorts} {
		if err := fill(&r); err != nil {
			return r, err
		}
	}
	if err := r.Check(); err != nil {
		return r, err
	}
	var err error
	if r.Image != "" || r.Restore != "" {
		r.SSHKeys, err = s.jobKeys()
	}
	return r, err
}

// notEmpty refuses values that are given and empty, such as those of a shell's variable that is not set.
func (s *session) notEmpty(*buy.Request) (err error) {
	for flag, read := range map[string]func() error{
		flagVolume: func() error { _, err := messages.ParseVolume(""); return err },
		flagBackup: func() error { _, err := buy.BucketFolder("", ""); return err },
		"network":  func() error { return errors.New("say internet or none") },
		flagUser:   func() error { return errors.New("write a name or a number, such as root or 1000:1000") },
	} {
		if s.cli.IsSet(flag) && s.cli.String(flag) == "" {
			return usage(fmt.Sprintf("--%s: %v", flag, read()), "")
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
		{"redundancy", &r.Redundancy, market.MinRedundancy, "outputs are compared of 3 to 8 machines"},
		{"min-tier", &r.MinTier, 0, "tiers are 0 to 3"},
	} {
		n := s.cli.Uint(f.flag)
		switch {
		case !s.cli.IsSet(f.flag):
		case n < f.least || n > 255:
			return usage(fmt.Sprintf("--%s is %d", f.flag, n), f.advice)
		default:
			*f.into = uint8(n)
		}
	}
	if model, n, err := service.ParseGPU(r.GPU, r.Count); err == nil && s.cli.IsSet("count") && n != r.Count {
		return usage(fmt.Sprintf("--gpu %s and --count %d say two numbers of GPUs", r.GPU, r.Count), "write --gpu "+model+" --count "+fmt.Sprint(n))
	}
	for _, f := range []struct {
		flag        string
		into        *uint32
		least, most uint
	}{
		{"auction-secs", &r.AuctionSecs, market.AuctionSecsMin, market.AuctionSecsMax},
		{"reveal-secs", &r.RevealSecs, market.RevealSecsMin, market.RevealSecsMax},
	} {
		n := s.cli.Uint(f.flag)
		switch {
		case !s.cli.IsSet(f.flag):
		case n < f.least || n > f.most:
			return usage(fmt.Sprintf("--%s is %d", f.flag, n), fmt.Sprintf("give %d to %d seconds", f.least, f.most))
		default:
			*f.into = uint32(n)
		}
	}
	for flag, into := range map[string]*uint32{"min-down": &r.MinDown, "min-up": &r.MinUp} {
		if text := s.cli.String(flag); text != "" {
			if *into, err = service.ParseMbps(text); err != nil {
				return usage("--"+flag+": "+err.Error(), "")
			}
		}
	}
	if s.cli.IsSet("nodes") && (s.cli.IsSet("redundancy") || s.cli.IsSet("rerun")) {
		return usage("--redundancy says how many machines there are", "leave --nodes out")
	}
	return nil
}

// environment reads the job's.
func (s *session) environment(r *buy.Request) error {
	for _, pair := range s.cli.StringSlice("env") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return usage(fmt.Sprintf("--env %q is not NAME=VALUE", pair), "")
		}
		if r.Env == nil {
			r.Env = map[string]string{}
		}
		r.Env[name] = value
	}
	return nil
}

// entrypoint reads an empty --entrypoint as docker does: the image's is left out, and the command begins with the program.
func (s *session) entrypoint(r *buy.Request) error {
	if !s.cli.IsSet(flagEntrypoint) || r.Entrypoint != "" {
		return nil
	}
	if len(r.Command) == 0 {
		return usage("--entrypoint is empty, and there is no command", "write the program after --, such as: -- python train.py")
	}
	r.Entrypoint, r.Command = r.Command[0], r.Command[1:]
	return nil
}

// fillIn puts what a template says in place of what the flags do not say.
func (s *session) fillIn(r *buy.Request) error {
	name := s.cli.String(flagTemplate)
	pairs := s.cli.StringSlice(flagSet)
	if name == "" {
		if len(pairs) > 0 {
			return usage("--set is for templates", "name one with --template; see: gantry templates")
		}
		return nil
	}
	t, err := findTemplate(name)
	if err != nil {
		return err
	}
	set, err := parseSet(pairs)
	if err != nil {
		return err
	}
	var j template.Job
	if j, err = t.Render(set); err != nil {
		return usage(err.Error(), "see: gantry templates show "+name)
	}
	return r.Fill(&j)
}
