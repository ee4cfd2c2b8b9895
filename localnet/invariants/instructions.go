package invariants

import (
	"cmp"
	"encoding/hex"

	"github.com/gantry-market/gantry/idl/bindings"
)

// InstructionName is the name of the instruction that the data calls; one that is not known is shown by its
// discriminator.
func InstructionName(data []byte) string {
	if len(data) < 8 {
		return "?"
	}
	return cmp.Or(bindings.InstructionName(data), hex.EncodeToString(data[:8]))
}
