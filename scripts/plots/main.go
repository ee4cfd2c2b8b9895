// Command plots draws the pictures of docs/reports from the tables of its pages: a picture has no figure of its own.
//
//	go run -C scripts/plots . ../../docs/reports
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: plots FOLDER (the folder of the reports; the pictures go into its folder images)")
		os.Exit(2)
	}
	if err := writeAll(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "plots:", err)
		os.Exit(1)
	}
}

// writeAll draws each picture from its page in a folder.
func writeAll(reports string) error {
	for _, p := range pictures {
		svg, err := p.draw(reports)
		if err != nil {
			return err
		}
		file := filepath.Join(reports, "images", p.name+".svg")
		if err := os.WriteFile(file, svg, 0o644); err != nil { //nolint:gosec // a picture of the documentation
			return fmt.Errorf("write a picture: %w", err)
		}
	}
	return nil
}

// picture is one file of docs/reports/images.
type picture struct {
	name   string // without .svg
	page   string // the page with the table
	panels func(*report) ([]panel, error)
}

func (p picture) draw(reports string) ([]byte, error) {
	r, err := read(filepath.Join(reports, p.page))
	if err != nil {
		return nil, err
	}
	panels, err := p.panels(r)
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", p.name, p.page, err)
	}
	return render(panels)
}
