// Command healthy asks the daemon in a container whether it works, for the health check of a runtime: the images have no shell.
//
// usage: healthy FOLDER, where FOLDER is the data folder of the daemon
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// addressFile is where a daemon writes the address of its state.
const addressFile = "http.addr"

var errUnhealthy = errors.New("the daemon does not work")

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: healthy FOLDER")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := ask(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "healthy:", err)
		os.Exit(1)
	}
}

func ask(ctx context.Context, folder string) error {
	address, err := os.ReadFile(filepath.Join(folder, addressFile))
	if err != nil {
		return fmt.Errorf("%w: it has not written where it answers: %w", errUnhealthy, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+strings.TrimSpace(string(address))+"/healthz", nil)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnhealthy, err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnhealthy, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
		return fmt.Errorf("%w: %s: %s", errUnhealthy, answer.Status, strings.TrimSpace(string(why)))
	}
	return nil
}
