//go:build linux

// Command gantry-guest is the first process of the measured guest. It has no options: what it does is measured.
package main

import (
	"context"
	"os"
	"time"

	"github.com/rs/zerolog"
	_ "golang.org/x/crypto/x509roots/fallback" // the guest has no files of certificates

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/collect"
	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/attest/tpm/device"
	"github.com/gantry-market/gantry/guest/container"
	"github.com/gantry-market/gantry/guest/machine"
)

func main() {
	if container.IsStage() {
		os.Exit(container.Stage())
	}
	log := zerolog.New(zerolog.ConsoleWriter{Out: os.Stdout, NoColor: true, TimeFormat: time.TimeOnly}).With().Timestamp().Logger()
	if os.Getpid() != 1 {
		log.Fatal().Msg("gantry-guest is the first process of a virtual machine, and does nothing elsewhere")
	}
	log.Warn().Err(run(log)).Msg("the guest ends")
	// A first process that returns makes the kernel panic, which ends the machine as well.
	log.Fatal().Err(machine.Off()).Msg("the machine cannot be switched off")
}

func run(log zerolog.Logger) error {
	ctx := context.Background() // ends with the machine
	if err := machine.Boot(log); err != nil {
		return err
	}
	answerer, err := machine.NewAnswerer(tpmDevice{device.New(device.Options{})}, collect.Sources{
		Inventory: machine.Inventory, TEE: collect.TSM{}.Report,
	}, machine.Run)
	if err != nil {
		return err
	}
	port, err := machine.OpenPort(ctx, control.Port)
	if err != nil {
		return err
	}
	log.Info().Msg("the guest is ready")
	defer answerer.Wait() // the end of the session has ended the job
	return control.Serve(ctx, port, answerer.Answer)
}

// tpmDevice is the TPM with the collector of its evidence.
type tpmDevice struct{ *device.Device }

// Collect implements attest.Collector.
func (t tpmDevice) Collect(ctx context.Context, nonce [32]byte) ([]attest.Evidence, error) {
	return (&device.Collector{Device: t.Device}).Collect(ctx, nonce)
}
