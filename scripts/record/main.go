// Command record runs a command on a pseudo-terminal and records what is seen there: as an asciinema cast (version 2) and as a picture of
// the last screen. `make recording` records the demo with it.
//
// usage: record [-cast FILE] [-picture FILE] [-title TEXT] [-columns N] [-rows N] -- COMMAND...
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
)

var (
	errUsage = errors.New("usage: record [-cast FILE] [-picture FILE] [-title TEXT] [-columns N] [-rows N] -- COMMAND")
	errTells = errors.New("the recording tells something about this computer")
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// options are those of the command line.
type options struct {
	cast, picture, title string
	columns, rows        int
	command              []string
}

func parse(args []string) (o options, err error) {
	set := flag.NewFlagSet("record", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&o.cast, "cast", "", "file of the cast")
	set.StringVar(&o.picture, "picture", "", "file of the picture, as SVG")
	set.StringVar(&o.title, "title", "", "title of both")
	set.IntVar(&o.columns, "columns", 100, "columns of the terminal")
	set.IntVar(&o.rows, "rows", 40, "rows of the terminal")
	if err := set.Parse(args); err != nil {
		return o, fmt.Errorf("%w: %w", errUsage, err)
	}
	if o.command = set.Args(); len(o.command) == 0 || o.columns < 20 || o.rows < 5 {
		return o, errUsage
	}
	return o, nil
}

// run leaves the files of a command that fails: they may say why.
func run(ctx context.Context, args []string) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	// A home of its own: the recording shows no folder of a person, and needs none.
	home, err := os.MkdirTemp("", "gantry-record-")
	if err != nil {
		return err
	}
	t := newTerminal(o.columns, o.rows)
	c := newCast(t, home)
	if err := record(ctx, o, home, c); err != nil {
		return fmt.Errorf("%s: %w (its files are in %s)\n%s", strings.Join(o.command, " "), err, home, strings.TrimSpace(strings.Join(t.plain(), "\n")))
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	var written bytes.Buffer
	if err := c.write(&written, o.title); err != nil {
		return err
	}
	picture := svg(c.last(), o.columns, o.title)
	if err := tells(c.printed.String()); err != nil {
		return err
	}
	for file, content := range map[string][]byte{o.cast: written.Bytes(), o.picture: []byte(picture)} {
		if file != "" {
			err = errors.Join(err, os.WriteFile(file, content, 0o644))
		}
	}
	return err
}

// record runs the command until it ends. It must succeed.
func record(ctx context.Context, o options, home string, c *cast) error {
	cmd := exec.CommandContext(ctx, o.command[0], o.command[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERM=xterm-256color", "LANG=C.UTF-8"}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: uint16(o.rows), Cols: uint16(o.columns)}) // #nosec G115 -- a terminal's size
	if err != nil {
		return err
	}
	defer func() { _ = terminal.Close() }()
	seen := c.follow(terminal, time.Now)
	return errors.Join(cmd.Wait(), seen)
}

// tells fails if a text has something of this computer: its name, a folder of the person or of the checkout, a temporary file.
func tells(text string) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	own, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	for _, secret := range []string{host, folder, own + "/", os.TempDir() + "/"} {
		if len(secret) > 2 && secret != "localhost" && strings.Contains(text, secret) {
			return fmt.Errorf("%w: %q", errTells, secret)
		}
	}
	return nil
}
