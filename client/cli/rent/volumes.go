package rent

import (
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/volumes"
)

func volumeCommand(s command.Streams) *cli.Command {
	flags := command.AsSession(&cli.StringFlag{Name: flagBackup, Usage: "the bucket that has them, `s3://BUCKET/FOLDER` (default: GANTRY_BUCKET, then the context)"}, backupEndpointFlag())
	return &cli.Command{
		Name: "volume", Usage: "volumes that you keep beyond their leases, with deploy --keep",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "your volumes: size, newest snapshot, bytes in the bucket, and the lease that uses each", Flags: flags, Action: action(s, (*session).volumeList)},
			{Name: "show", Usage: "one volume", ArgsUsage: "NAME", Flags: flags, Action: action(s, (*session).volumeShow)},
			{Name: "delete", Usage: "remove a volume with all its snapshots; refused while a lease uses it", ArgsUsage: "NAME", Flags: flags, Action: action(s, (*session).volumeDelete)},
		},
	}
}

// keptIn is the bucket of volumes that are kept.
func (s *session) keptIn() buy.Bucket {
	return s.Bucket.Or(s.CLI.String(flagBackup), s.CLI.String(flagBackupEndpoint))
}

// volumes are those that the customer keeps; names are of the arguments.
func (s *session) volumes(names ...string) (*volumes.Store, *buy.Buyer, string, error) {
	args, err := s.Args(names...)
	if err != nil {
		return nil, nil, "", err
	}
	b, err := s.buyer()
	if err != nil {
		return nil, nil, "", err
	}
	in, err := b.Volumes(s.Context, s.keptIn())
	return in, b, append(args, "")[0], err
}

func (s *session) volumeList() error {
	in, b, _, err := s.volumes()
	if err != nil {
		return err
	}
	var out terminal.KeptVolumes
	if out.KeyFile, err = b.KeptKeyFile(s.Context); err != nil {
		return err
	}
	if out.Volumes, err = in.List(s.Context); err != nil {
		return buy.VolumeFailed("", err)
	}
	return s.Done(out, func(w *terminal.Page) { terminal.WriteVolumes(w, &out) })
}

func (s *session) volumeShow() error {
	in, _, name, err := s.volumes("NAME")
	if err != nil {
		return err
	}
	out, err := in.Show(s.Context, name)
	if err != nil {
		return buy.VolumeFailed(name, err)
	}
	return s.Done(out, func(w *terminal.Page) { terminal.WriteVolume(w, &out) })
}

func (s *session) volumeDelete() error {
	in, _, name, err := s.volumes("NAME")
	if err != nil {
		return err
	}
	out, err := in.Show(s.Context, name)
	if err == nil {
		if err := s.Confirm("delete   volume %s with %d snapshots, %s in the bucket", name, out.Snapshots, terminal.Mebibytes(uint64(out.Stored))); err != nil || s.DryRun {
			return err
		}
		out, err = in.Delete(s.Context, name)
	}
	if err != nil {
		return buy.VolumeFailed(name, err)
	}
	return s.Done(out, func(w *terminal.Page) { w.Hang("deleted ", name) })
}
