// Command generate writes the Go bindings of the market program from its IDL: what anchor-go generates, and what it leaves out.
// That is a table of the program's errors, the data of instructions without arguments, and the instructions' names and places of
// accounts. The same IDL always gives the same bytes.
//
//	generate IDL.json OUTPUT_DIR PACKAGE
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gagliardetto/anchor-go/generator"
	"github.com/gagliardetto/anchor-go/idl"
	bin "github.com/gagliardetto/binary"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: generate IDL.json OUTPUT_DIR PACKAGE")
	}
	files, err := bindings(args[0], args[2])
	if err != nil {
		return err
	}
	return write(args[1], files)
}

// bindings returns the formatted sources by file name.
func bindings(path, pkg string) (files map[string][]byte, err error) {
	// anchor-go reports what it cannot express by panicking.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: anchor-go cannot express it in Go: %v", path, r)
		}
	}()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	parsed, err := idl.ParseFromFilepath(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if err := parsed.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	parsed.Metadata.Name = bin.ToSnakeForSighash(parsed.Metadata.Name)
	out, err := generator.NewGenerator(parsed, &generator.GeneratorOptions{
		Package:     pkg,
		ProgramName: parsed.Metadata.Name,
		ModPath:     "github.com/gantry-market/gantry/idl/" + pkg,
		ProgramId:   parsed.Address,
		SkipGoMod:   true,
	}).Generate()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	files = map[string][]byte{}
	for _, f := range out.Files {
		if strings.HasPrefix(f.Name, "tests") || f.Name == "errors.go" {
			continue // an empty test and an empty table
		}
		var source bytes.Buffer
		if err := f.File.Render(&source); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		files[f.Name] = source.Bytes()
	}
	files["errors.go"] = errorTable(parsed, pkg)
	if files["instructions.go"], files["names.go"], err = instructions(files["instructions.go"], parsed, pkg); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for name, source := range files {
		if files[name], err = format.Source(source); err != nil {
			return nil, fmt.Errorf("format %s: %w", name, err)
		}
	}
	return files, nil
}

// write replaces the generated files of a directory; it refuses to touch files that it did not generate.
func write(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	old, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	for _, path := range old {
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		generated := bytes.Contains(source, []byte("DO NOT EDIT."))
		if _, replaced := files[filepath.Base(path)]; replaced && !generated {
			return fmt.Errorf("%s is not generated and in the way", path)
		}
		if generated {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}
