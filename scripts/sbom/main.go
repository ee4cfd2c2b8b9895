// Command sbom writes the bill of materials of a Go program as CycloneDX JSON: what the linker has recorded in it, not what
// go.mod allows.
//
// usage: sbom PROGRAM >FILE
package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM >FILE")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// write lists the modules of a program, the Go library among them. It has no time and no serial number, so that the same
// program has the same list.
func write(w io.Writer, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("%s was not built by Go: %w", program, err)
	}
	b := cyclonedx.NewBOM()
	root := module(info.Main.Path, info.Main.Version)
	root.Type, root.Name = cyclonedx.ComponentTypeApplication, filepath.Base(program)
	b.Metadata = &cyclonedx.Metadata{Component: &root}
	parts := []cyclonedx.Component{module("std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, module(m.Path, m.Version))
	}
	b.Components = &parts
	encoder := cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.Encode(b); err != nil {
		return fmt.Errorf("write the list of %s: %w", program, err)
	}
	return nil
}

// module is a component with its package URL (github.com/package-url/purl-spec, type golang).
func module(path, version string) cyclonedx.Component {
	purl := "pkg:golang/" + path + "@" + version
	return cyclonedx.Component{BOMRef: purl, Type: cyclonedx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: purl}
}
