package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
)

const file = "compose.yaml"

// settings are those that the file wants.
var settings = []string{"GANTRY_VERSION=1.2.3", "GANTRY_HOST=gw.example.org", "GANTRY_RPC_URL=https://rpc.example.org", "GANTRY_GATEWAY_DOMAIN=gw.example.org"}

// mains are the programs of the services.
var mains = map[string]string{"keeper": "./keeper/cmd/gantry-keeper", "gateway": "./gateway/cmd/gantry-gateway"}

func project(t *testing.T) *types.Project {
	t.Helper()
	p, err := read(t.Context(), file, settings)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Services) != len(mains) {
		t.Fatalf("services: %v", p.ServiceNames())
	}
	return p
}

func TestContainersHaveNoRights(t *testing.T) {
	p := project(t)
	for name, s := range p.Services {
		if s.Privileged || s.NetworkMode != "" || s.Pid != "" || s.Ipc != "" || s.UserNSMode != "" || s.User != "" || len(s.CapAdd) > 0 || len(s.Devices) > 0 {
			t.Errorf("%s asks for rights", name)
		}
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Equal(s.SecurityOpt, []string{"no-new-privileges:true"}) {
			t.Errorf("%s has rights that it does not need", name)
		}
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeVolume && !v.ReadOnly {
				t.Errorf("%s can write to %s of the machine", name, v.Source)
			}
		}
	}
}

func TestWhatServicesKeep(t *testing.T) {
	p := project(t)
	for name, s := range p.Services {
		data := "/var/lib/gantry-" + name
		if !slices.ContainsFunc(s.Volumes, func(v types.ServiceVolumeConfig) bool { return v.Type == types.VolumeTypeVolume && v.Target == data }) {
			t.Errorf("%s keeps nothing in %s", name, data)
		}
		if s.HealthCheck == nil || !slices.Equal(s.HealthCheck.Test, []string{"CMD", "/usr/bin/healthy", data}) {
			t.Errorf("%s has no health check of %s: %v", name, data, s.HealthCheck)
		}
		// The image names /run/secrets/keypair (packaging/images/spec.go).
		if len(s.Secrets) != 1 || s.Secrets[0].Target != "keypair" {
			t.Errorf("%s has no keypair: %v", name, s.Secrets)
		}
		if want := "gantry-" + name + ":1.2.3"; s.Image != want {
			t.Errorf("%s runs %s, not %s", name, s.Image, want)
		}
	}
	for name, s := range p.Secrets {
		if want, _ := filepath.Abs(filepath.Join("secrets", name+".json")); s.File != want || s.Environment != "" || s.Content != "" {
			t.Errorf("the secret %s is not the file %s: %+v", name, want, s)
		}
	}
}

// Each flag, and each variable that the programs read, exists in the program that this checkout builds.
func TestProgramsKnowFlagsAndVariables(t *testing.T) {
	p := project(t)
	for name, s := range p.Services {
		command := exec.CommandContext(t.Context(), "go", "run", "-C", "../..", mains[name], "run", "--help")
		help, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, help)
		}
		words := strings.FieldsFunc(string(help), func(r rune) bool { return strings.ContainsRune(" \n,[]()$", r) })
		for _, arg := range s.Command[1:] {
			if strings.HasPrefix(arg, "--") && !slices.Contains(words, arg) {
				t.Errorf("gantry-%s run has no flag %s", name, arg)
			}
		}
		for variable := range s.Environment {
			if !slices.Contains(words, variable) {
				t.Errorf("gantry-%s run does not read %s", name, variable)
			}
		}
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	for _, left := range settings {
		var out bytes.Buffer
		err := run(t.Context(), []string{file}, slices.DeleteFunc(slices.Clone(settings), func(s string) bool { return s == left }), &out)
		name, _, _ := strings.Cut(left, "=")
		if err == nil || !strings.Contains(err.Error(), "required variable "+name+" is missing a value: set it to ") {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// What does not follow the specification's schema is refused, so that the other tests mean something.
func TestTheSchemaIsChecked(t *testing.T) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for change, says := range map[string]string{
		"read_only: true": "read_onyl: true", "pull_policy: never": "pull_policy: sometimes", "stop_grace_period: 30s": "stop_grace_period: [30]",
		"target: keypair": "targets: keypair", "retries: 3": "retries: many",
	} {
		changed := filepath.Join(t.TempDir(), file)
		if !bytes.Contains(raw, []byte(change)) {
			t.Fatalf("%s is not in the file", change)
		}
		if err := os.WriteFile(changed, bytes.ReplaceAll(raw, []byte(change), []byte(says)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := read(t.Context(), changed, settings); err == nil {
			t.Errorf("%q is not refused", says)
		}
	}
}

func TestRunPrintsJSON(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{file}, settings, &out); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(out.Bytes()) {
		t.Error("not JSON")
	}
	if err := run(t.Context(), nil, settings, &out); err == nil {
		t.Error("no file is no error")
	}
}
