// Command generate writes the dashboards into a folder.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gantry-market/gantry/packaging/grafana"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate FOLDER")
		os.Exit(2)
	}
	for _, d := range grafana.All() {
		raw, err := d.JSON()
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[1], d.File()), raw, 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "generate:", err)
			os.Exit(1)
		}
	}
}
