package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/nvgpu/nvgputest"
)

func hexSum(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// pemOf is a GPU's chain as the driver writes it.
func pemOf(g *nvgputest.GPU) []byte {
	var out []byte
	for _, c := range g.Chain {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return out
}

// collateral is collateral of tests.
type collateral map[string][]byte

func (c collateral) Get(key string) ([]byte, error) {
	if data, ok := c[key]; ok {
		return data, nil
	}
	return nil, attest.ErrNoCollateral
}
