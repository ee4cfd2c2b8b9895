package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// user is whom the images without the agent run as.
const user = 65532

// home of the user: the folder of the customer's command.
const home = "/var/lib/gantry"

// spec is an image.
type spec struct {
	name, title string
	programs    []string // in /usr/bin
	command     []string // what it runs without arguments, behind the first program
	env         []string
	data        string // the folder that outlives the container
	ports       []string
	root        bool // it needs the rights of root, and the C library
}

var specs = []spec{
	{
		name: "gantry", title: "The command of the Gantry market and its HTTP API",
		programs: []string{"gantry"}, command: []string{"serve"}, data: home, env: []string{"GANTRY_STATE_DIR=" + home}, ports: []string{"8484/tcp"},
	},
	{
		name: "gantry-keeper", title: "Keeper of the Gantry market",
		programs: []string{"gantry-keeper", "healthy"}, command: []string{"run"}, data: "/var/lib/gantry-keeper", ports: []string{"4101/tcp"},
		env: []string{"GANTRY_KEEPER_DATA=/var/lib/gantry-keeper", "GANTRY_KEYPAIR=/run/secrets/keypair"},
	},
	{
		name: "gantry-gateway", title: "Gateway of the Gantry market",
		programs: []string{"gantry-gateway", "healthy"}, command: []string{"run"}, data: "/var/lib/gantry-gateway", ports: []string{"443/tcp", "2222/tcp", "4102/tcp"},
		env: []string{"GANTRY_GATEWAY_DATA=/var/lib/gantry-gateway", "GANTRY_KEYPAIR=/run/secrets/keypair"},
	},
	{
		name: "gantry-agent", title: "Agent of the Gantry market",
		programs: []string{"gantry-agent", "gantry-shell", "runsc", "healthy"}, command: []string{"run"}, data: "/var/lib/gantry-agent", root: true,
		env: []string{"GANTRY_DATA_DIR=/var/lib/gantry-agent"},
	},
}

var errUsage = errors.New("usage: images FOLDER VERSION UNIX-TIME NAME PLATFORM=PROGRAMS, one or more")

// platform is one that an image is made for, and the folder of its programs.
type platform struct{ os, architecture, programs string }

// chosen is the image of a name.
func chosen(name string) (spec, error) {
	i := slices.IndexFunc(specs, func(s spec) bool { return s.name == name })
	if i < 0 {
		return spec{}, fmt.Errorf("there is no image %q: %w", name, errUsage)
	}
	return specs[i], nil
}

// platformOf reads linux/amd64=FOLDER.
func platformOf(arg string) (platform, error) {
	name, folder, ok := strings.Cut(arg, "=")
	system, architecture, both := strings.Cut(name, "/")
	if !ok || !both || system != "linux" || architecture == "" || folder == "" {
		return platform{}, fmt.Errorf("%q is not a platform and a folder, such as linux/amd64=build/programs: %w", arg, errUsage)
	}
	return platform{system, architecture, folder}, nil
}

// tag is a version as a registry writes it: without the characters that a tag may not have.
func tag(version string) string { return strings.NewReplacer("~", "-", "+", "-").Replace(version) }
