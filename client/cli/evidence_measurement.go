package cli

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/measure"
)

// maxMeasurementFile bounds the file of a record, bytes.
const maxMeasurementFile = 2 << 20

func evidenceMeasurementCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name: "measurement", Usage: "check the record of a measurement that a keeper has stated to be wrong, offline", ArgsUsage: "FILE",
		Description: "Keepers keep such records in DATA/measurements/NODE. The record's hash is the detail of the keeper's statement.\n" +
			"The machine has signed its commitment and its answers, so that nobody has to believe the keeper.\n" +
			"Whether the block is the period's instant is on chain: the answer names slot and hash.\n" +
			"Exit: 0 the machine has signed what is wrong, or that it opens nothing; 1 the record does not show that; 2 wrong use.",
		Flags:  []cli.Flag{&cli.StringFlag{Name: "hash", Usage: "the statement's detail in `HEX`"}},
		Action: func(c *cli.Context) error { return verifyMeasurement(c, s) },
	}
}

// measurementJSON is a checked record as printed.
type measurementJSON struct {
	File    string `json:"file"`
	Verdict string `json:"verdict"`
	Why     string `json:"why,omitempty"`
	Hash    string `json:"hash"`
	Node    string `json:"node"`
	Key     string `json:"nodeKey"`
	Period  uint64 `json:"period"`
	Slot    uint64 `json:"slot"`
	Block   string `json:"blockHash"`
	Shown   bool   `json:"shown"`
}

func verifyMeasurement(c *cli.Context, s Streams) error {
	if c.NArg() != 1 {
		return usage(fmt.Sprintf("one FILE is needed, got %d", c.NArg()), "write: gantry evidence measurement FILE")
	}
	file := c.Args().First()
	raw, err := readLimited(file, maxMeasurementFile)
	if err != nil {
		return err
	}
	r, err := measure.DecodeRecord(raw)
	if err != nil {
		return refused(fmt.Sprintf("%s is not the record of a measurement: %s", file, printable.Text(err.Error())), "keepers keep them in DATA/measurements/NODE")
	}
	_, hash, err := r.Encode()
	if err != nil {
		return err
	}
	if want := strings.ToLower(c.String("hash")); want != "" && want != hex.EncodeToString(hash[:]) {
		return refused(fmt.Sprintf("the record's hash is %x, and not the statement's detail", hash), "ask the keeper for the record with this hash")
	}
	verdict, why, err := r.Check(c.Context)
	if err != nil {
		return refused(fmt.Sprintf("%s contradicts itself: %s", file, printable.Text(err.Error())), "the keeper's statement is not supported by this record")
	}
	out := measurementJSON{
		File: file, Verdict: verdict.String(), Hash: hex.EncodeToString(hash[:]), Node: solana.PublicKey(r.Node).String(),
		Key: solana.PublicKey(r.Key).String(), Period: r.Period, Slot: r.Slot, Block: solana.Hash(r.BlockHash).String(),
		Shown: verdict == measure.Shown || verdict == measure.Unopened,
	}
	if why != nil {
		out.Why = printable.Text(why.Error())
	}
	if c.Bool(flagJSON) {
		enc := json.NewEncoder(s.Out)
		enc.SetIndent("", "  ")
		err = enc.Encode(out)
	} else {
		pairs(s.Out, [2]string{"verdict", out.Verdict}, [2]string{"why", out.Why}, [2]string{"node", out.Node}, [2]string{"node key", out.Key},
			[2]string{"instant", fmt.Sprintf("period %d, slot %d, block %s", out.Period, out.Slot, out.Block)}, [2]string{"hash", out.Hash})
	}
	if err == nil && !out.Shown {
		err = &failure{Code: ExitRefused, Reason: "not shown: " + out.Verdict, Advice: "only the keeper's statement says that this measurement was wrong", Told: true}
	}
	return err
}
