package cost

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/idl/bindings"
)

// Bench is what the program's tests measured: program/bench/results.json.
type Bench struct {
	Units map[string]uint64 `json:"compute_units"`
	Rent  struct {
		Lease uint64 `json:"lease"`
		Order uint64 `json:"order"`
	} `json:"rent_lamports"`
	Bytes struct {
		Lease uint64 `json:"lease"`
		Order uint64 `json:"order"`
	} `json:"account_bytes"`
}

// ReadBench reads the measured figures.
func ReadBench(path string) (b Bench, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		return b, fmt.Errorf("measured compute units: %w", err)
	}
	return b, nil
}

// rentHead is what the runtime adds to an account's bytes when it counts rent.
const rentHead = 128

// PerByte is what a byte costs that an account holds, in lamports.
func (b Bench) PerByte() uint64 { return b.Rent.Lease / (b.Bytes.Lease + rentHead) }

// RentOf is the rent of an account of so many bytes.
func (b Bench) RentOf(bytes uint64) uint64 { return (bytes + rentHead) * b.PerByte() }

// discriminator are the bytes before an account's struct.
const discriminator = 8

// The sizes of accounts as they lie on chain: their structs lie in memory likewise (a test of sdk/market/query holds it).
var (
	leaseBytes = discriminator + uint64(unsafe.Sizeof(bindings.Lease{}))
	orderBytes = discriminator + uint64(unsafe.Sizeof(bindings.Order{}))
	nodeBytes  = discriminator + uint64(unsafe.Sizeof(bindings.Node{}))
	// A report without more than four roots.
	reportBytes = discriminator + uint64(unsafe.Sizeof(bindings.Report{}))
)

// claimBytes is a device claim's account, of which the interface description has no struct: three keys, four bytes and a time
// (decodeDevice of sdk/market refuses any other length).
const claimBytes = discriminator + 3*32 + 4 + 4

// Machines are those of the report: small and large, at the prices that the table of classes assumes.
func Machines() ([]Machine, error) {
	var out []Machine
	for _, m := range []Machine{{Class: "T4", GPUs: 1}, {Class: "RTX-4090", GPUs: 1}, {Class: "H100-SXM5-80GB", GPUs: 8}} {
		var err error
		if m.Price, err = strconv.ParseFloat(class.GPUs().Named(m.Class).Price, 64); err != nil {
			return nil, fmt.Errorf("price of class %s: %w", m.Class, err)
		}
		out = append(out, m)
	}
	return out, nil
}
