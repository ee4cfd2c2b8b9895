// Command gantry-shell serves one SSH connection inside of a container. The agent starts it there; see package shell.
//
// usage: gantry-shell [--version]
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/gantry-market/gantry/agent/shell"
	"github.com/gantry-market/gantry/internal/version"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "--version" {
		fmt.Println("gantry-shell version " + version.Long)
		return
	}
	if err := shell.ServeStdio(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
