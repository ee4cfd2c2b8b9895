// Package setup takes the owner of a GPU through the steps to a machine that is registered: questions, steps that see
// whether they are done already, and the earnings to expect. The steps themselves are those of the commands of
// gantry-agent.
package setup

import (
	"context"
	"fmt"
	"io"
)

// Step is one thing that must be so before the machine earns.
type Step struct {
	// Name is printed before what the step says.
	Name string
	// Do sees whether the step is done, and does it if not. It says what is so now, and whether it changed anything.
	// It must be possible to repeat it after any interruption.
	Do func(context.Context) (said string, changed bool, err error)
}

// Run takes the steps in order and ends at the first that fails, or when ctx ends. It returns how many changed anything.
func Run(ctx context.Context, w io.Writer, steps []Step) (changed int, err error) {
	for _, s := range steps {
		if err := ctx.Err(); err != nil {
			return changed, fmt.Errorf("interrupted before the step %s; the same command continues from there: %w", s.Name, err)
		}
		said, did, err := s.Do(ctx)
		if err != nil {
			return changed, fmt.Errorf("%s: %w", s.Name, err)
		}
		mark := "·"
		if did {
			mark = "✓"
			changed++
		}
		fmt.Fprintf(w, " %s %-9s %s\n", mark, s.Name, said)
	}
	return changed, nil
}
