// Command guest-image builds the image of the measured guest from this repository and the pinned packages.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/guest/image"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	app := &cli.App{
		Name: "guest-image", Usage: "build the image of the measured guest, and the values that a TPM has after it has booted",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "packages", Usage: "`FOLDER` with the pinned packages (default: that of scripts/toolchain.sh guest)"},
			&cli.StringFlag{Name: "sources", Value: ".", Usage: "`FOLDER` of this repository"},
			&cli.StringFlag{Name: "out", Value: "build/guest", Usage: "`FOLDER` for guest.efi and guest.json"},
			&cli.BoolFlag{Name: "check", Usage: "fail if the values are others than those that are committed, and write none of these"},
		},
		Action: build, HideHelpCommand: true,
	}
	if err := app.RunContext(ctx, os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

var errOther = errors.New("the image is another one than guest/image/expected.json names: its sources have changed; run make guest, and commit that file")

func build(c *cli.Context) error {
	packages := c.String("packages")
	if packages == "" {
		var err error
		if packages, err = image.Folder(); err != nil {
			return err
		}
	}
	inputs, err := image.Load(packages)
	if err != nil {
		return err
	}
	program, err := image.Compile(c.Context, c.String("sources"))
	if err != nil {
		return err
	}
	data, expected, err := image.Build(image.Options{Inputs: inputs, Program: program})
	if err != nil {
		return err
	}
	values, err := expected.Encode()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.String("out"), 0o755); err != nil {
		return fmt.Errorf("folder of the image: %w", err)
	}
	committed := filepath.Join(c.String("sources"), "guest", "image", "expected.json")
	files := map[string][]byte{filepath.Join(c.String("out"), "guest.efi"): data, filepath.Join(c.String("out"), "guest.json"): values}
	if c.Bool("check") {
		if old, err := os.ReadFile(committed); err != nil || !bytes.Equal(old, values) {
			return errors.Join(errOther, err)
		}
	} else {
		files[committed] = values
	}
	for name, data := range files {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			return fmt.Errorf("write the image: %w", err)
		}
	}
	fmt.Printf("%s\nsha256 %s, %d bytes, Linux %s\n", filepath.Join(c.String("out"), "guest.efi"), expected.SHA256, expected.Size, expected.Kernel)
	return nil
}
