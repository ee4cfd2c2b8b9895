package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/agent/fleet"
	"github.com/gantry-market/gantry/agent/setup"
	"github.com/gantry-market/gantry/sdk/chain"
)

// enrolCommand is the machine's side of `fleet setup`.
func enrolCommand() *cli.Command {
	return &cli.Command{
		Name: "enrol", Usage: "all steps of setup that need no wallet, then what the machine registers with, as JSON; for gantry-agent fleet on the owner's computer",
		Description: "What people read is on standard error. With --sign it signs the registration that it reads from standard input (a transaction's message in\n" +
			"base64), and nothing else.",
		Flags: commonFlags(append([]cli.Flag{
			priceFlag("`USDC` per GPU-hour such as 1.26; auto follows the market, auto:FLOOR never below a floor"),
			&cli.BoolFlag{Name: "sign", Usage: "sign this machine's registration"},
			&cli.StringSliceFlag{Name: "accept", Usage: "continue even if `CHECK` of doctor fails; may be repeated"},
		}, append(machineFlags(), hoursFlags()...)...)...),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usage(fmt.Errorf("enrol takes no argument (got %q)", c.Args().First()))
			}
			if c.Bool("sign") {
				return signRegistration(c)
			}
			return enrol(c)
		},
	}
}

func enrol(c *cli.Context) error {
	if err := knownChecks(c.StringSlice("accept")); err != nil {
		return err
	}
	answer := c.App.Writer
	c.App.Writer = c.App.ErrWriter
	j := &joining{cli: c, walletless: true, asker: setup.NewAsker(strings.NewReader(""), c.App.ErrWriter, false)}
	if err := j.answers(); err != nil {
		return err
	}
	defer j.close()
	if _, err := setup.Run(c.Context, c.App.ErrWriter, []setup.Step{
		{Name: "settings", Do: j.settings}, {Name: "key", Do: j.key}, {Name: "hardware", Do: j.hardware}, {Name: "benchmark", Do: j.benchmark}, {Name: "checks", Do: j.checks},
	}); err != nil {
		return err
	}
	out, err := fleet.Enrolment{
		Version: fleet.Version, NodeKey: j.nodeKey, Region: j.cfg.Region, Site: j.cfg.Site, Price: j.cfg.Price,
		Isolation: uint8(j.cfg.Isolation()), Inventory: j.machine.Inventory,
	}.Encode()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(answer, "%s\n", out)
	return err
}

// maxMessage is longer than any transaction in base64.
const maxMessage = 4 << 10

func signRegistration(c *cli.Context) error {
	cfg, err := settings(c)
	if err != nil {
		return err
	}
	key, err := chain.LoadKeypair(cfg.NodeKey)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(c.App.Reader, maxMessage))
	if err != nil {
		return fmt.Errorf("read the registration: %w", err)
	}
	message, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		return usage(fmt.Errorf("%w: it is not base64", fleet.ErrNotRegistration))
	}
	if err := fleet.CheckRegistration(message, key.PublicKey()); err != nil {
		return err
	}
	sig, err := key.Sign(message)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.App.Writer, sig)
	return err
}
