// Command compose reads a compose file as an engine does, with its variables from the environment, and prints what it means as JSON. It
// fails where the file does not follow the schema of the compose specification. A module of its own: only tests need it.
//
// usage: compose FILE
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

var errUsage = errors.New("usage: compose FILE")

func main() {
	if err := run(context.Background(), os.Args[1:], os.Environ(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "compose:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args, env []string, out io.Writer) error {
	if len(args) != 1 {
		return errUsage
	}
	p, err := read(ctx, args[0], env)
	if err != nil {
		return err
	}
	raw, err := p.MarshalJSON()
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	_, err = out.Write(append(raw, '\n'))
	return err
}

// read validates a file, and resolves its variables and paths.
func read(ctx context.Context, file string, env []string) (*types.Project, error) {
	o, err := cli.NewProjectOptions([]string{file}, cli.WithEnv(env), cli.WithResolvedPaths(true), cli.WithInterpolation(true), cli.WithConsistency(true))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	p, err := o.LoadProject(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}
