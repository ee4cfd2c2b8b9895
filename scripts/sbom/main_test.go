package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/stretchr/testify/require"
)

// This program has the libraries that it was linked with.
func TestBillOfMaterials(t *testing.T) {
	self := filepath.Join(t.TempDir(), "sbom")
	built, err := exec.CommandContext(t.Context(), "go", "build", "-o", self, ".").CombinedOutput()
	require.NoError(t, err, string(built))
	var out, again bytes.Buffer
	require.NoError(t, write(&out, self))
	require.NoError(t, write(&again, self))
	require.Equal(t, out.String(), again.String())
	var b cyclonedx.BOM
	require.NoError(t, cyclonedx.NewBOMDecoder(&out, cyclonedx.BOMFileFormatJSON).Decode(&b))
	names := map[string]string{}
	for _, c := range *b.Components {
		names[c.Name] = c.Version
		require.Equal(t, "pkg:golang/"+c.Name+"@"+c.Version, c.PackageURL)
	}
	require.NotEmpty(t, names["std"])
	require.NotEmpty(t, names["github.com/CycloneDX/cyclonedx-go"])
	require.Equal(t, "sbom", b.Metadata.Component.Name)
}

func TestWhatGoDidNotBuild(t *testing.T) {
	require.ErrorContains(t, write(&bytes.Buffer{}, "main.go"), "was not built by Go")
}
