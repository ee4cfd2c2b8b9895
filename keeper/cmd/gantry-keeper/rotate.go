package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/keeper/daemon"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// hotFlag is the key that is to sign for a keeper.
func hotFlag() cli.Flag {
	return &cli.StringFlag{
		Name:  "signer",
		Usage: "`KEY` that signs for the keeper, apart from its wallet: its keypair file, or what `gantry-keeper consent` prints where the file is (default: the wallet)",
	}
}

// hot reads hotFlag; the zero Consent where it is not given.
func hot(c *cli.Context, a *daemon.Account) (daemon.Consent, error) {
	text := c.String("signer")
	switch {
	case text == "":
		return daemon.Consent{}, nil
	case strings.Contains(text, ":"):
		return daemon.ParseConsent(text)
	}
	key, err := chain.LoadKeypair(text)
	if err != nil {
		return daemon.Consent{}, fmt.Errorf("--signer: %w", err)
	}
	m := a.Market()
	return daemon.NewConsent(&m, a.Wallet(), key, a.Now())
}

func consentCommand() *cli.Command {
	return &cli.Command{
		Name: "consent", Usage: "have the key of --keypair agree to sign for a keeper, for `register` and `set-signer` on the machine of its wallet", ArgsUsage: "WALLET",
		Flags: commonFlags(),
		Action: func(c *cli.Context) error {
			wallet, err := solana.PublicKeyFromBase58(c.Args().First())
			if err != nil || c.Args().Len() != 1 {
				return fmt.Errorf("%w: give the address of the keeper's wallet", errFlags)
			}
			conf, err := config(c)
			if err != nil {
				return err
			}
			defer conf.Client.Close()
			m, err := query.Load(c.Context, conf.Client, chain.Confirmed)
			if err != nil {
				return err
			}
			now, err := daemon.ChainTime(c.Context, conf)
			if err != nil {
				return err
			}
			consent, err := daemon.NewConsent(&m, wallet, conf.Wallet, now)
			if err != nil {
				return err
			}
			fmt.Fprintln(c.App.Writer, consent)
			fmt.Fprintf(c.App.ErrWriter, "to be used before %s\n", consent.Until.Format(time.RFC3339))
			return nil
		},
	}
}

func setSignerCommand() *cli.Command {
	return &cli.Command{
		Name: "set-signer", Usage: "have another key sign for this wallet's keeper; without --signer the wallet signs again", Flags: append(commonFlags(), jsonFlag(), hotFlag()),
		Action: withAccount(func(c *cli.Context, a *daemon.Account, conf daemon.Config) error {
			consent, err := hot(c, a)
			if err != nil {
				return err
			}
			k, err := a.SetSigner(c.Context, consent)
			if err != nil {
				return err
			}
			if !c.Bool("json") {
				fmt.Fprintf(c.App.Writer, "%s signs for keeper %s; the bond answers for %s until %s, and the signer does not change before\n",
					k.SigningKey(), k.Wallet, k.FormerSigner, time.Unix(k.SignerUntil, 0).UTC().Format(time.RFC3339))
			}
			return printStatus(c, a, conf)
		}),
	}
}
