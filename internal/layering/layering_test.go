package layering

import (
	"slices"
	"strings"
	"testing"
)

const (
	root   = "../.."
	module = "github.com/gantry-market/gantry"
)

// TestLayering holds the repository to the rules.
func TestLayering(t *testing.T) {
	all, err := readSources(root, module)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Fatalf("only %d sources found below %s", len(all), root)
	}
	used := map[string]bool{}
	for _, p := range check(all, rules) {
		if exceptions[p.what] == "" {
			t.Error(p)
		}
		used[p.what] = true
	}
	for what := range exceptions {
		if !used[what] {
			t.Errorf("the exception %q is not needed any more: remove it", what)
		}
	}
}

// TestRulesNameWhatExists: a rule about a folder that was renamed would hold for ever.
func TestRulesNameWhatExists(t *testing.T) {
	all, err := readSources(root, module)
	if err != nil {
		t.Fatal(err)
	}
	dirs := []string{bindings} // generated
	for _, s := range all {
		dirs = append(dirs, s.dir())
	}
	for _, r := range rules {
		for _, pattern := range slices.Concat(r.from, r.not, r.only, r.never) {
			if !slices.ContainsFunc(dirs, func(d string) bool { return match(pattern, d) }) {
				t.Errorf("rule %q: there is no folder %s", r.name, pattern)
			}
		}
	}
}

// TestCommandsAreSmall: what a command does is in a library, so that servers and other programs can do it too; and no part of the
// repository outgrows the others.
func TestCommandsAreSmall(t *testing.T) {
	all, err := readSources(root, module)
	if err != nil {
		t.Fatal(err)
	}
	lines, sum := 0, 0
	of := map[string]int{}
	for _, s := range all {
		if s.pkg == "" {
			continue // Rust
		}
		top, _, _ := strings.Cut(s.path, "/")
		of[top] += s.lines
		sum += s.lines
		if !s.test && match("client/cli/...", s.dir()) {
			lines += s.lines
		}
	}
	if lines == 0 || lines > maxCommandLines {
		t.Errorf("client/cli has %d lines, at most %d: move what is not flags or output into a library", lines, maxCommandLines)
	}
	for top, n := range of {
		if n*100 > sum*maxShare {
			t.Errorf("%s has %d of %d lines of Go, more than %d %%", top, n, sum, maxShare)
		}
	}
}

// TestRulesFail: each rule finds an invented source that breaks it, and says which package and which import.
func TestRulesFail(t *testing.T) {
	for _, c := range []struct {
		name    string
		sources map[string]string // path and text
		want    string            // part of the only problem, none when empty
	}{
		{"records", importing("sdk/records", "attest"), "records import nothing of ours: sdk/records imports attest"},
		{"messages", importing("sdk/messages", "sdk/p2p"), "messages import only records and attest: sdk/messages imports sdk/p2p"},
		{"messages may", importing("sdk/messages", "sdk/records", "attest"), ""},
		{"attest", importing("attest/policy", "sdk/records"), "attest/policy imports sdk/records"},
		{"inside attest", importing("attest/policy", "attest/tpm"), ""},
		{"client and keeper", importing("client/buy", "keeper/report"), "client/buy imports keeper/report"},
		{"purchase and server", importing("client/buy", "client/serve"), "the purchase knows none of its interfaces: client/buy imports client/serve"},
		{"two readers", importing("client/cli/rent", "client/cli/command", "client/cli/provide"), "commands of one reader import none of another: client/cli/rent imports client/cli/provide"},
		{"a reader and what all share", importing("client/cli/rent", "client/cli/command", "client/buy"), ""},
		{"what all share and a reader", importing("client/cli/command", "client/cli/rent"), "what all commands share knows none of them: client/cli/command imports client/cli/rent"},
		{"server and a reader", importing("client/server", "client/cli/rent"), "servers buy without the command line: client/server imports client/cli/rent"},
		{"keeper and agent", importing("keeper/check", "agent/host"), "keepers import neither client, agents nor gateways: keeper/check imports agent/host"},
		{"agent and keeper", importing("agent/host", "keeper/check"), "agents import neither client, keepers nor gateways: agent/host imports keeper/check"},
		{"SDK and client", importing("sdk/txm", "client/service"), "the SDK imports none of the programs: sdk/txm imports client/service"},
		{"gateway and client", importing("gateway/link", "client/service"), "gateways import neither client, keepers nor agents: gateway/link imports client/service"},
		{"agent and gateway", importing("agent/host", "gateway/link"), "agents import neither client, keepers nor gateways: agent/host imports gateway/link"},
		{"keeper and local network", importing("keeper/daemon", "localnet/engine"), "keeper/daemon imports localnet/engine"},
		{"agent and test helpers", importing("agent/daemon", "internal/testkit/fakerpc"), "agent/daemon imports internal/testkit/fakerpc"},
		{"local network and agent", importing("localnet/fleet", "agent/daemon"), ""},
		{"command", importing("localnet/demo", "client/cmd/gantry/flags"), "nothing imports a command: localnet/demo imports client/cmd/gantry/flags"},
		{"market", importing("sdk/market", "sdk/chain"), "sdk/market imports sdk/chain"},
		{"tests may", map[string]string{"keeper/daemon/x_test.go": text("daemon", "localnet/engine")}, ""},
		{"tests may not", map[string]string{"keeper/daemon/x_test.go": text("daemon", "agent/host")}, "keeper/daemon imports agent/host"},
		{"other modules", map[string]string{"sdk/records/x.go": "package records\n\nimport \"example.com/attest\"\n"}, ""},
		{
			"cycle of folders",
			map[string]string{"agent/a/x.go": text("a", "agent/b/deep"), "agent/b/deep/x.go": text("deep"), "agent/b/x.go": text("b", "agent/a")},
			"folders import in one direction: a → b → a (in ./agent)",
		},
		{
			"cycle of three at the top",
			map[string]string{"a/x.go": text("a", "b"), "b/x.go": text("b", "c/y"), "c/x.go": text("c", "a")},
			"a → b → c → a",
		},
		{
			"a folder and what is in it",
			map[string]string{"agent/a/x.go": text("a", "agent/a/b"), "agent/a/b/c/x.go": text("c", "agent/a")},
			"folders import in one direction: . → b → . (in ./agent/a)",
		},
		{"a folder's parts need it", map[string]string{"agent/a/b/x.go": text("b", "agent/a"), "agent/a/x.go": text("a")}, ""},
		{"package name", map[string]string{"agent/host/x.go": text("hardware")}, "agent/host is package hardware"},
		{"test package name", map[string]string{"agent/host/x_test.go": text("host_test")}, ""},
		{
			"name of the bindings",
			map[string]string{"agent/host/x.go": "package host\n\nimport gen \"" + module + "/idl/bindings\"\n"},
			"agent/host/x.go calls them gen",
		},
		{"long file", map[string]string{"agent/host/x.go": "package host\n" + strings.Repeat("\n", maxFileLines)}, "agent/host/x.go (401 lines, at most 400)"},
		{"long test file", map[string]string{"agent/host/x_test.go": "package host\n" + strings.Repeat("\n", maxFileLines)}, ""},
		{"long Rust file", map[string]string{"program/src/lib.rs": strings.Repeat("\n", maxFileLines+1)}, "program/src/lib.rs (401 lines"},
		{"long Rust test", map[string]string{"program/tests/math.rs": strings.Repeat("\n", maxFileLines+1)}, ""},
		{
			"long function",
			map[string]string{"agent/host/x.go": "package host\n\nfunc (h *Host) f() {" + strings.Repeat("\n", maxFunctionLines) + "}\n"},
			"functions are short: agent/host/x.go f (81 lines, at most 80)",
		},
		{"generated", map[string]string{"agent/host/x.go": "// Code generated by x. DO NOT EDIT.\n\npackage y\n"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []source
			for name, text := range c.sources {
				s, ok, err := parse(name, []byte(text), module)
				if err != nil {
					t.Fatal(err)
				}
				if ok {
					all = append(all, s)
				}
			}
			found := check(all, rules)
			switch {
			case c.want == "" && len(found) > 0:
				t.Fatalf("found %v", found)
			case c.want != "" && (len(found) == 0 || !slices.ContainsFunc(found, func(p problem) bool { return strings.Contains(p.String(), c.want) })):
				t.Fatalf("found %v, want %q", found, c.want)
			}
		})
	}
}

// importing is one file of a package that imports others.
func importing(dir string, others ...string) map[string]string {
	return map[string]string{dir + "/x.go": text(dir[strings.LastIndex(dir, "/")+1:], others...)}
}

func text(name string, others ...string) string {
	var b strings.Builder
	b.WriteString("package " + name + "\n")
	for _, o := range others {
		b.WriteString("\nimport \"" + module + "/" + o + "\"\n")
	}
	return b.String()
}
