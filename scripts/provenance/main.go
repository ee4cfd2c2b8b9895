// Command provenance writes how the files of a release were built: an in-toto statement with the predicate of SLSA
// (https://slsa.dev/spec/v1.1/provenance). It names the files of a list of checksums, the commit, the version of Go and the platforms. It has
// neither a time nor a run of the build, so that the same commit has the same statement.
//
// usage: provenance -commit COMMIT -version VERSION PLATFORM... <SHA256SUMS >FILE
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	provenance "github.com/in-toto/attestation/go/predicates/provenance/v1"
	statement "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	source    = "https://github.com/gantry-market/gantry"
	predicate = "https://slsa.dev/provenance/v1"
	// buildType is the page that says what the parameters are, and how to build again.
	buildType = source + "/blob/main/docs/operate/install.md#where-a-file-comes-from"
	builder   = source + "/blob/main/scripts/dist.sh"
)

var errNoChecksum = errors.New("no line of sha256sum")

func main() {
	commit := flag.String("commit", "", "Git commit `ID` of the checkout")
	version := flag.String("version", "", "`VERSION` of the release")
	flag.Parse()
	if err := write(os.Stdout, os.Stdin, *commit, *version, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "provenance:", err)
		os.Exit(1)
	}
}

func write(w io.Writer, sums io.Reader, commit, version string, platforms []string) error {
	built := make([]any, len(platforms))
	for i, p := range platforms {
		built[i] = p
	}
	parameters, err := structpb.NewStruct(map[string]any{"version": version, "platforms": built})
	if err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	p := &provenance.Provenance{
		BuildDefinition: &provenance.BuildDefinition{BuildType: buildType, ExternalParameters: parameters, ResolvedDependencies: []*statement.ResourceDescriptor{
			{Uri: "git+" + source, Digest: map[string]string{"gitCommit": commit}},
			{Uri: "pkg:generic/go@" + strings.TrimPrefix(runtime.Version(), "go")},
		}},
		RunDetails: &provenance.RunDetails{Builder: &provenance.Builder{Id: builder}},
	}
	if err := p.Validate(); err != nil {
		return fmt.Errorf("predicate: %w", err)
	}
	raw, err := protojson.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode the predicate: %w", err)
	}
	s := &statement.Statement{Type: statement.StatementTypeUri, PredicateType: predicate, Predicate: &structpb.Struct{}}
	if err := protojson.Unmarshal(raw, s.Predicate); err != nil {
		return fmt.Errorf("predicate: %w", err)
	}
	if s.Subject, err = subjects(sums); err != nil {
		return err
	}
	if err := s.Validate(); err != nil {
		return fmt.Errorf("statement: %w", err)
	}
	return encode(w, s)
}

// subjects are the files of a list that sha256sum has written. The statement validates their digests.
func subjects(sums io.Reader) (all []*statement.ResourceDescriptor, err error) {
	lines := bufio.NewScanner(sums)
	for lines.Scan() {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok {
			return nil, fmt.Errorf("%w: %q", errNoChecksum, lines.Text())
		}
		all = append(all, &statement.ResourceDescriptor{Name: name, Digest: map[string]string{"sha256": sum}})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the checksums: %w", err)
	}
	return all, nil
}

// encode writes a statement. The spaces of protojson differ between builds of a program; those of encoding/json do not.
func encode(w io.Writer, s *statement.Statement) error {
	raw, err := protojson.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode the statement: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return fmt.Errorf("encode the statement: %w", err)
	}
	out.WriteByte('\n')
	if _, err := out.WriteTo(w); err != nil {
		return fmt.Errorf("write the statement: %w", err)
	}
	return nil
}
