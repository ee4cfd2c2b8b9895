package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/agent/daemon"
	"github.com/gantry-market/gantry/agent/idle"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/internal/wait"
)

func idleCommand() *cli.Command {
	return &cli.Command{
		Name: "idle", Usage: "your own container, which has the GPUs while nobody rents them (idle: in agent.yaml)",
		Subcommands: []*cli.Command{
			{
				Name: "logs", Usage: "what the idle job has printed, earlier runs first",
				Flags:  commonFlags(&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "follow what it prints, until interrupted"}),
				Action: idleLogs,
			},
			{Name: "status", Usage: "whether it runs, and why not", Flags: commonFlags(), Action: idleStatus},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usage(fmt.Errorf("idle has no %q; use idle logs or idle status", c.Args().First()))
			}
			return cli.ShowSubcommandHelp(c)
		},
	}
}

// idleStatus prints how the job does, from the file that the running agent keeps.
func idleStatus(c *cli.Context) error {
	cfg, err := settings(c)
	if err != nil {
		return err
	}
	s, err := daemon.ReadStatus(cfg.StatusPath())
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !s.Fresh(time.Now()):
		return errors.New("the agent does not run, and its idle job with it: gantry-agent run")
	case err != nil:
		return fmt.Errorf("status of the running agent: %w", err)
	case s.Idle == nil:
		return fmt.Errorf("there is no idle job; write idle: into %s and start the agent again", cfg.File())
	}
	for _, l := range idleLines(*s.Idle, s.Since, time.Now()) {
		fmt.Fprintln(c.App.Writer, l)
	}
	return nil
}

// idleLines say how the idle job does.
func idleLines(s idle.State, since, now time.Time) []string {
	text := s.String()
	if !s.Until.IsZero() {
		text += " until " + s.Until.Local().Format("15:04:05 MST")
	}
	share := 0.0
	if up := now.Sub(since); up > 0 {
		share = 100 * s.Ran.Seconds() / up.Seconds()
	}
	out := []string{text, fmt.Sprintf("ran %s, %.0f %% of the time since the agent started; started %d times", s.Ran.Round(time.Second), min(share, 100), s.Starts)}
	if s.LastFailure != "" {
		out = append(out, fmt.Sprintf("failed %d times in a row: %s", s.Failures, s.LastFailure))
	}
	return out
}

// idleLogs prints what earlier runs have printed, and what this one does.
func idleLogs(c *cli.Context) error {
	cfg, err := settings(c)
	if err != nil {
		return err
	}
	for _, path := range []string{idle.OlderOutput(cfg.IdleLog()), cfg.IdleLog()} {
		if err := printFile(c.App.Writer, path); err != nil {
			return err
		}
	}
	now := runtime.OutputPath(cfg.JobsDir(), idle.ID)
	if !c.Bool("follow") {
		return printFile(c.App.Writer, now)
	}
	return followFile(c.Context, c.App.Writer, now)
}

func printFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("output of the idle job: %w", err)
	}
	defer f.Close()
	if _, err := io.Copy(w, f); err != nil {
		return fmt.Errorf("output of the idle job: %w", err)
	}
	return nil
}

// followEvery is how often the output is looked at.
const followEvery = 300 * time.Millisecond

// followFile prints what a file gets, and of the one that takes its place when the job is started again.
func followFile(ctx context.Context, w io.Writer, path string) error {
	var open *os.File
	defer func() {
		if open != nil {
			open.Close()
		}
	}()
	for {
		if open != nil {
			if _, err := io.Copy(w, open); err != nil {
				return fmt.Errorf("output of the idle job: %w", err)
			}
			if !sameFile(open, path) {
				open.Close()
				open = nil
			}
		}
		if open == nil {
			f, err := os.Open(path)
			switch {
			case err == nil:
				open = f
				continue
			case !errors.Is(err, fs.ErrNotExist):
				return fmt.Errorf("output of the idle job: %w", err)
			}
		}
		if err := wait.For(ctx, followEvery); err != nil {
			return err
		}
	}
}

func sameFile(f *os.File, path string) bool {
	has, err := f.Stat()
	is, failed := os.Stat(path)
	return err == nil && failed == nil && os.SameFile(has, is)
}
