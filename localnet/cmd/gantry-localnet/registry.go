package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/localnet/registry"
)

// registryCommand is the local network's registry of images; the network starts it.
func registryCommand() *cli.Command {
	return &cli.Command{
		Name: "registry", Hidden: true,
		Usage: "serve a registry of images, without a password",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Required: true, Usage: "`HOST:PORT`"},
			&cli.StringFlag{Name: "dir", Required: true, Usage: "`FOLDER` of the images"},
		},
		Action: func(c *cli.Context) error { return serveRegistry(c.Context, c.String("listen"), c.String("dir")) },
	}
}

func serveRegistry(ctx context.Context, at, dir string) error {
	images, err := registry.New(dir)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at)
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	server := &http.Server{Handler: images, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("registry: %w", err)
	}
	return nil
}
