package attestation

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
)

// A guest's key may come without a report of a processor: whoever reads of it must not read that there was one.
func TestAGuestsKeySaysNothingOfAProcessor(t *testing.T) {
	for about, w := range said {
		if about[0] == attest.KindGuest.String() {
			require.NotContains(t, w.holds, "confidential")
		}
	}
}
