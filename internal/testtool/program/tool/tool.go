// Command gantry-testtool is what tests and the demo need of other people's software: an S3 server, an ACME server, a
// reader of QR codes, Grafana's schemas, and SQLite. It is a program of a module of its own, so that programs that
// import the SDK do not get these modules. Package testtool builds it and starts it.
//
// usage: gantry-testtool s3 | acme PORT | qr | dashboard | sqlite
//
// The servers say on their first line, in JSON, where they are, take commands from standard input, a line each, and
// end with it. The others read standard input to its end and print their answer.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gantry-testtool:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	parts := map[string]func(args []string, in io.Reader, out io.Writer) error{
		"s3": s3, "acme": acme, "qr": qr, "dashboard": checkDashboard, "sqlite": sqlite,
	}
	if len(args) == 0 || parts[args[0]] == nil {
		return fmt.Errorf("want one of s3, acme PORT, qr, dashboard, sqlite; got %q", args)
	}
	return parts[args[0]](args[1:], in, out)
}

// serve says where a server is and answers commands until their end.
func serve(in io.Reader, out io.Writer, where any, answer func(command string) (string, error)) error {
	if err := json.NewEncoder(out).Encode(where); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		text, err := answer(lines.Text())
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, text); err != nil {
			return err
		}
	}
	return lines.Err()
}
