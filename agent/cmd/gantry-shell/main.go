// Command gantry-shell serves one SSH connection inside of a container. The agent starts it there; see package shell.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/gantry-market/gantry/agent/shell"
)

func main() {
	if err := shell.ServeStdio(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
