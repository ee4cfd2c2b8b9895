package main

import (
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"
)

func reportFlag() cli.Flag {
	return &cli.StringFlag{Name: "report", Usage: "write the page to a `FILE`"}
}

// writeReport writes the page of a result to the file that --report names, if it names one.
func writeReport(c *cli.Context, r interface{ Markdown(w io.Writer) error }) error {
	path := c.String("report")
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	defer f.Close()
	if err := r.Markdown(f); err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	return nil
}
