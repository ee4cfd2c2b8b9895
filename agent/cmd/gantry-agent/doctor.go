package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/agent/doctor"
)

// errUnfit: the machine lacks something that it needs.
var errUnfit = errors.New("the machine cannot serve as it is")

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "say what the machine lacks, why it matters and what to type; changes nothing",
		Flags: commonFlags(append(append(machineFlags(), guestFlags()...),
			&cli.StringSliceFlag{Name: "listen", Usage: "`MULTIADDRESS` that the agent is to listen at; may be repeated", EnvVars: []string{"GANTRY_LISTEN"}},
			&cli.BoolFlag{Name: "json", Usage: "one JSON document on standard output"})...),
		Action: runDoctor,
	}
}

func runDoctor(c *cli.Context) error {
	if c.Args().Len() > 0 {
		return usage(fmt.Errorf("doctor takes no argument (got %q)", c.Args().First()))
	}
	cfg, err := settings(c)
	if err != nil {
		return err
	}
	m, err := doctor.This(cfg)
	if err != nil {
		return err
	}
	found := doctor.Run(c.Context, m, doctor.Checks(), doctor.Limit)
	errs, warnings := doctor.Count(found)
	if c.Bool("json") {
		e := json.NewEncoder(c.App.Writer)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err = e.Encode(struct {
			Errors   int              `json:"errors"`
			Warnings int              `json:"warnings"`
			Findings []doctor.Finding `json:"findings"`
		}{errs, warnings, found})
	} else {
		err = doctor.Print(c.App.Writer, found)
	}
	if err == nil && errs > 0 {
		err = fmt.Errorf("%w: %d of %d checks found errors", errUnfit, errs, len(found))
	}
	return err
}
