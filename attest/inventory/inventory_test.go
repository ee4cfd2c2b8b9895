package inventory

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
)

func sample() Inventory {
	return Inventory{
		Version: Version, Kernel: "6.8.0", Platform: "Debian <13>", CPU: "EPYC 9554", Cores: 64, RAMMiB: 1 << 20,
		Driver: "550.54.15", GPUs: []GPU{
			{Index: 0, Model: "NVIDIA H100 80GB HBM3", UUID: "GPU-00000000-0000-4000-8000-000000000001", VRAMMiB: 81559, PCI: "0000:18:00.0"},
			{Index: 2, Model: "NVIDIA H100 80GB HBM3", UUID: "GPU-00000000-0000-4000-8000-000000000002", VRAMMiB: 81559, MIG: true},
		},
	}
}

func TestRoundTrip(t *testing.T) {
	for _, in := range []Inventory{sample(), {Version: Version, GPUs: []GPU{}}} {
		e, err := in.Evidence()
		require.NoError(t, err)
		out, err := FromEvidence(e)
		require.NoError(t, err)
		require.Equal(t, in, out)
	}
}

func TestRefused(t *testing.T) {
	good, err := sample().Encode()
	require.NoError(t, err)
	for name, data := range map[string][]byte{
		"empty":         nil,
		"not JSON":      []byte("GPU"),
		"trailing":      append(bytes.Clone(good), ' '),
		"two documents": append(bytes.Clone(good), good...),
		"spaced":        bytes.Replace(good, []byte(`,"cores"`), []byte(`, "cores"`), 1),
		"unknown field": bytes.Replace(good, []byte(`"cores"`), []byte(`"kores"`), 1),
		"twice a field": bytes.Replace(good, []byte(`"cores":64`), []byte(`"cores":1,"cores":64`), 1),
		"other case":    bytes.Replace(good, []byte(`"cores"`), []byte(`"Cores"`), 1),
		"escaped":       bytes.Replace(good, []byte(`EPYC`), []byte(`\u0045PYC`), 1),
		"version":       bytes.Replace(good, []byte(`"version":1`), []byte(`"version":2`), 1),
		"same UUID":     bytes.Replace(good, []byte(`000002`), []byte(`000001`), 1),
		"index order":   bytes.Replace(good, []byte(`"index":2`), []byte(`"index":0`), 1),
		"short UUID":    bytes.Replace(good, []byte(`GPU-00000000-0000-4000-8000-000000000002`), []byte(`GPU-2`), 1),
		"control":       bytes.Replace(good, []byte(`EPYC`), []byte(`\u001b[2J`), 1),
		"negative":      bytes.Replace(good, []byte(`"cores":64`), []byte(`"cores":-1`), 1),
		"too large":     append(bytes.Clone(good), bytes.Repeat([]byte(" "), MaxSize)...),
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEqual(t, good, data)
			_, err := Parse(data)
			require.ErrorIs(t, err, attest.ErrMalformed)
		})
	}
	many := sample()
	for range MaxGPUs {
		g := many.GPUs[len(many.GPUs)-1]
		g.Index, g.UUID = g.Index+1, g.UUID+"x"
		many.GPUs = append(many.GPUs, g)
	}
	_, err = many.Encode()
	require.ErrorIs(t, err, attest.ErrMalformed)
	long := sample()
	long.CPU = strings.Repeat("x", maxText+1)
	_, err = long.Encode()
	require.ErrorIs(t, err, attest.ErrMalformed)
}

func TestVerifierSaysClaim(t *testing.T) {
	for _, simulated := range []bool{false, true} {
		in := sample()
		in.Simulated = simulated
		e, err := in.Evidence()
		require.NoError(t, err)
		r, err := Verifier{}.Verify(e, attest.Binding{}, time.Time{})
		require.NoError(t, err)
		require.True(t, r.Ok())
		require.Contains(t, r.Uncovered(), CheckClaim)
		require.Equal(t, simulated, strings.Contains(r.Uncovered(), CheckSimulated))
		require.Len(t, r.Devices, 2)
		require.Equal(t, in.GPUs[1].UUID, string(r.Devices[1].Identity))
		require.False(t, r.Confidential)
	}
	for name, e := range map[string]attest.Evidence{
		"another kind":  {Kind: attest.KindTPM, Items: []attest.Item{{Name: ItemInventory}}},
		"instance":      {Kind: attest.KindInventory, Instance: 1, Items: []attest.Item{{Name: ItemInventory}}},
		"another item":  {Kind: attest.KindInventory, Items: []attest.Item{{Name: "x"}}},
		"two items":     {Kind: attest.KindInventory, Items: []attest.Item{{Name: ItemInventory}, {Name: "x"}}},
		"not canonical": {Kind: attest.KindInventory, Items: []attest.Item{{Name: ItemInventory, Data: []byte("{}")}}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Verifier{}.Verify(e, attest.Binding{}, time.Time{})
			require.ErrorIs(t, err, attest.ErrMalformed)
			require.False(t, r.Ok())
		})
	}
}

func FuzzParse(f *testing.F) {
	good, err := sample().Encode()
	require.NoError(f, err)
	f.Add(good)
	f.Add([]byte(`{"version":1,"simulated":false,"cores":0,"ram_mib":0,"gpus":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := Parse(data)
		if err != nil {
			require.ErrorIs(t, err, attest.ErrMalformed)
			return
		}
		again, err := in.Encode()
		require.NoError(t, err)
		require.Equal(t, data, again)
	})
}
