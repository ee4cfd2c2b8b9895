package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/internal/service"
	"github.com/gantry-market/gantry/keeper/daemon"
	"github.com/gantry-market/gantry/keeper/signing"
	"github.com/gantry-market/gantry/sdk/chain"
)

const (
	linkFile   = "link.json"
	socketFile = "signer.sock"
)

func signerFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "signer", EnvVars: []string{"GANTRY_KEEPER_SIGNER"},
		Usage: "`ADDRESS` of the signer that has the wallet's key and the store of what it has signed: unix:/path/to/signer.sock or tls://KEY@HOST:PORT (default: this keeper has them). If several keepers share one signer, one works and the others stand by",
	}
}

// keeperFlag says which keeper a key is for.
func keeperFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "keeper", EnvVars: []string{"GANTRY_KEEPER_WALLET"},
		Usage: "`WALLET` of the keeper, where --keypair is the key of its signer (default: the one keeper for which the key signs)",
	}
}

func signerCommand() *cli.Command {
	return &cli.Command{
		Name: "signer", Usage: "hold a keeper's key apart from the keepers that use it: see docs/operate/keys.md",
		Subcommands: []*cli.Command{
			{
				Name: "init", Usage: "prepare the data folder: read the market and make the store of what the key signs, unless one is there", Flags: append(commonFlags(), jsonFlag(), keeperFlag()),
				Action: initSigner,
			},
			{
				Name: "run", Usage: "sign for keepers until interrupted; it needs no connection to the chain",
				Flags: append(signerFolderFlags(),
					&cli.StringFlag{Name: "socket", EnvVars: []string{"GANTRY_SIGNER_SOCKET"}, Usage: "`PATH` of the Unix socket (default: signer.sock in the data folder; \"off\" for none)"},
					&cli.StringFlag{Name: "listen", EnvVars: []string{"GANTRY_SIGNER_LISTEN"}, Usage: "`HOST:PORT` to listen on, by TLS, for keepers on other machines (default: none)"},
					&cli.StringSliceFlag{Name: "allow", EnvVars: []string{"GANTRY_SIGNER_ALLOW"}, Usage: "link `KEY` of a keeper that may connect to --listen (`gantry-keeper signer key` prints it there); repeat for more"},
					&cli.DurationFlag{Name: "hold", EnvVars: []string{"GANTRY_SIGNER_HOLD"}, Value: signing.DefaultTTL, Usage: "how long a keeper that is not heard keeps the others standing by"},
				),
				Action: runSigner,
			},
			{
				Name: "key", Usage: "print the link key of this machine, creating it if missing; the other end needs it to recognise this one",
				Flags: []cli.Flag{dataFlag()},
				Action: func(c *cli.Context) error {
					key, err := linkKey(c)
					if err != nil {
						return err
					}
					fmt.Fprintln(c.App.Writer, key.PublicKey())
					return nil
				},
			},
		},
	}
}

// linkKey reads or makes the link key in the data folder.
func linkKey(c *cli.Context) (solana.PrivateKey, error) {
	data, err := chain.ExpandHome(c.String("data"))
	if err != nil {
		return nil, err
	}
	return signing.LinkKey(filepath.Join(data, linkFile))
}

func initSigner(c *cli.Context) error {
	conf, err := config(c)
	if err != nil {
		return err
	}
	defer conf.Client.Close()
	keeper, first, err := daemon.InitSigner(c.Context, conf)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return writeJSON(c.App.Writer, map[string]any{"keeper": keeper.String(), "first_period": uint64(first)})
	}
	fmt.Fprintf(c.App.Writer, "%s is prepared for keeper %s, which signs from period %d on; start it with `gantry-keeper signer run`\n", conf.Data, keeper, first)
	return nil
}

func runSigner(c *cli.Context) (err error) {
	log, err := logger(c)
	if err != nil {
		return err
	}
	conf := daemon.SignerConfig{TTL: c.Duration("hold"), Log: log}
	if conf.TTL <= 0 {
		return fmt.Errorf("%w: --hold is %v", errFlags, conf.TTL)
	}
	if conf.Service, err = service.FromEnv(); err != nil {
		return err
	}
	if conf.Data, err = chain.ExpandHome(c.String("data")); err != nil {
		return err
	}
	keypair := c.String("keypair")
	if keypair == "" {
		solana, err := chain.LoadCLIConfig("")
		if err != nil {
			return err
		}
		keypair = solana.KeypairPath
	}
	if conf.Wallet, conf.Locks, err = wallet(keypair); err != nil {
		return err
	}
	s, err := daemon.OpenSigner(conf)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	on, err := listeners(c, conf.Data)
	if err != nil {
		return err
	}
	for _, l := range on {
		log.Info().Stringer("keeper", conf.Wallet.PublicKey()).Str("on", l.Addr().Network()+" "+l.Addr().String()).Msg("signer works")
	}
	return s.Run(c.Context, on...)
}

// listeners opens the sockets that the flags name.
func listeners(c *cli.Context, data string) (out []net.Listener, err error) {
	defer func() {
		if err != nil {
			for _, l := range out {
				err = errors.Join(err, l.Close())
			}
		}
	}()
	path, err := chain.ExpandHome(c.String("socket"))
	if err != nil {
		return nil, err
	}
	if path == "" {
		path = filepath.Join(data, socketFile)
	}
	if path != "off" {
		l, err := signing.ListenSocket(path)
		if err != nil {
			return out, err
		}
		out = append(out, l)
	}
	if c.String("listen") == "" {
		if len(out) == 0 {
			return nil, fmt.Errorf("%w: with --socket off there is nowhere to listen; give --listen", errFlags)
		}
		return out, nil
	}
	var allow []solana.PublicKey
	for _, name := range c.StringSlice("allow") {
		key, err := solana.PublicKeyFromBase58(name)
		if err != nil {
			return out, fmt.Errorf("%w: --allow %q: %w", errFlags, name, err)
		}
		allow = append(allow, key)
	}
	if len(allow) == 0 {
		return out, fmt.Errorf("%w: --listen needs --allow with the link key of each keeper that may connect", errFlags)
	}
	key, err := linkKey(c)
	if err != nil {
		return out, err
	}
	l, err := signing.ListenTLS(c.String("listen"), key, allow)
	if err != nil {
		return out, err
	}
	return append(out, l), nil
}

// signerOf reads --signer; nil where there is none.
func signerOf(c *cli.Context) (*signing.Dialer, error) {
	text := c.String("signer")
	if text == "" {
		return nil, nil
	}
	at, err := signing.ParseAddress(text)
	if err != nil {
		return nil, fmt.Errorf("%w: --signer: %w", errFlags, err)
	}
	key, err := linkKey(c)
	if err != nil {
		return nil, err
	}
	return &signing.Dialer{Address: at, Key: key}, nil
}

// wallet reads a keypair file, and says where the lock of its wallet lies.
func wallet(path string) (solana.PrivateKey, []string, error) {
	key, err := chain.LoadKeypair(path)
	if err != nil {
		return nil, nil, err
	}
	if path, err = chain.ExpandHome(path); err != nil {
		return nil, nil, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return key, []string{filepath.Dir(real)}, nil
	}
	return key, nil, nil
}

func makeData(path string) (string, error) {
	data, err := chain.ExpandHome(path)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return "", fmt.Errorf("--data-dir: %w", err)
	}
	return data, nil
}
