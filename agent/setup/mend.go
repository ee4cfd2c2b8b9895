package setup

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Mend runs commands of doctor as root, each once, and shows what they print. One that fails is said, and the others are run: the
// checks that follow judge. Error: that of ctx.
func Mend(ctx context.Context, out io.Writer, commands []string) error {
	for i, command := range commands {
		if slices.Contains(commands[:i], command) {
			continue
		}
		line := strings.ReplaceAll(command, "sudo ", "") // root's commands; small systems have no sudo
		fmt.Fprintf(out, "   $ %s\n", line)
		cmd := exec.CommandContext(ctx, "/bin/sh", "-ec", line)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Stdout, cmd.Stderr = out, out
		err := cmd.Run()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(out, "   it failed: %v\n", err)
		}
	}
	return nil
}
