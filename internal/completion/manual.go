package completion

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// Manual is the manual page of a program, for man.
func Manual(app *cli.App) (string, error) {
	page, err := app.ToManWithSection(1)
	if err != nil {
		return "", fmt.Errorf("manual page: %w", err)
	}
	return strings.TrimLeft(page, "\n"), nil
}
