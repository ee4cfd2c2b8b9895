package attestation

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/measure"
)

// maxMeasurementFile bounds the file of a record, bytes.
const maxMeasurementFile = 2 << 20

// Measurement is the checked record of a measurement.
type Measurement struct {
	File    string `json:"file"`
	Verdict string `json:"verdict"`
	Why     string `json:"why,omitempty"`
	Hash    string `json:"hash"`
	Node    string `json:"node"`
	Key     string `json:"nodeKey"`
	Period  uint64 `json:"period"`
	Slot    uint64 `json:"slot"`
	Block   string `json:"blockHash"`
	// Shown: the machine has signed what is wrong, or that it opens nothing.
	Shown bool `json:"shown"`
}

// VerifyMeasurement checks the record of a measurement that a keeper has stated to be wrong. hash is the detail of the
// statement, lower case; empty for any. Error: a file that is no such record, has another hash or contradicts itself.
func VerifyMeasurement(ctx context.Context, file, hash string) (Measurement, error) {
	raw, err := service.ReadFile(file, maxMeasurementFile)
	if err != nil {
		return Measurement{}, err
	}
	r, err := measure.DecodeRecord(raw)
	if err != nil {
		return Measurement{}, service.Refused(fmt.Sprintf("%s is not the record of a measurement: %s", file, printable.Text(err.Error())), "keepers keep them in DATA/measurements/NODE")
	}
	_, has, err := r.Encode()
	if err != nil {
		return Measurement{}, err
	}
	if hash != "" && hash != hex.EncodeToString(has[:]) {
		return Measurement{}, service.Refused(fmt.Sprintf("the record's hash is %x, and not the statement's detail", has), "ask the keeper for the record with this hash")
	}
	verdict, why, err := r.Check(ctx)
	if err != nil {
		return Measurement{}, service.Refused(fmt.Sprintf("%s contradicts itself: %s", file, printable.Text(err.Error())), "the keeper's statement is not supported by this record")
	}
	out := Measurement{
		File: file, Verdict: verdict.String(), Hash: hex.EncodeToString(has[:]), Node: solana.PublicKey(r.Node).String(),
		Key: solana.PublicKey(r.Key).String(), Period: r.Period, Slot: r.Slot, Block: solana.Hash(r.BlockHash).String(),
		Shown: verdict == measure.Shown || verdict == measure.Unopened,
	}
	if why != nil {
		out.Why = printable.Text(why.Error())
	}
	return out, nil
}
