package nvgpu_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/nvgpu"
)

// An auditor checks a recorded report against recorded manifests, at the time when it was made.
func ExampleVerifier_VerifyNonce() {
	file := func(name string) []byte {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			panic(err)
		}
		return data
	}
	report, err := hex.DecodeString(strings.TrimSpace(string(file("gh100-b.report.hex"))))
	if err != nil {
		panic(err)
	}
	items, err := nvgpu.Items(report, file("gh100-b.chain.pem"))
	if err != nil {
		panic(err)
	}
	board := nvgpu.Board{Project: "1010", SKU: "0200", Chip: "882"}
	verifier := nvgpu.New(nvgpu.Options{
		Policy: nvgpu.Policy{RequireMeasurements: true},
		Collateral: library{
			nvgpu.DriverRIMKey("GH100", "545.00"):      file("driver-545.00.swidtag"),
			nvgpu.VBIOSRIMKey(board, "96.00.5E.00.01"): file("vbios-96005E0001.swidtag"),
		},
	})
	result, err := verifier.VerifyNonce(attest.Evidence{Kind: attest.KindNVGPU, Items: items}, [32]byte(report[4:36]), sampleTime)
	fmt.Println(err, result.Claims["chip"], result.Claims["driver"], result.Claims["vbios"], result.Confidential)
	for _, c := range result.Checks {
		if c.Name == nvgpu.CheckMeasurements || c.Outcome == attest.NotCovered {
			fmt.Printf("%s: %s\n", c.Name, c.Outcome)
		}
	}
	// Output:
	// <nil> GH100 545.00 96.00.5E.00.01 true
	// firmware id: not covered
	// revocation of the GPU's certificates: not covered
	// revocation of the driver manifest's signers: not covered
	// revocation of the VBIOS manifest's signers: not covered
	// measurements: passed
}
