package layering

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

const (
	maxFileLines     = 400
	maxFunctionLines = 80
	maxCommandLines  = 9_000 // of client/cli: a command is flags, a library, output
	maxShare         = 20    // of a hundred lines of Go, for the largest folder of the repository's root
	bindings         = "idl/bindings"
)

// rule restricts what some packages import from this repository. Folders are written as the go command does:
// "client/..." is client and all below it, ".../cmd/..." is every folder cmd and all below it.
type rule struct {
	name  string
	from  []string // the packages that the rule is about
	not   []string // packages of these that it is not about
	only  []string // what they may import; nil for anything
	never []string // what they may not import
	tests bool     // whether the rule holds for test files too
}

// readers are the commands by who uses them.
var readers = []string{
	"client/cli/govern", "client/cli/host", "client/cli/keep", "client/cli/keys", "client/cli/provide", "client/cli/rent", "client/cli/verify",
}

// apart are rules by which packages do not import each other.
func apart(name string, dirs []string) (all []rule) {
	for i, dir := range dirs {
		all = append(all, rule{name: name, from: []string{dir}, never: slices.Delete(slices.Clone(dirs), i, i+1), tests: true})
	}
	return all
}

var rules = append(apart("commands of one reader import none of another", readers), []rule{
	{name: "records import nothing of ours", from: []string{"sdk/records/..."}, only: []string{"sdk/records/..."}},
	{name: "messages import only records and attest", from: []string{"sdk/messages/..."}, only: []string{"sdk/messages/...", "sdk/records", "attest"}},
	{name: "attest imports nothing outside attest", from: []string{"attest/..."}, only: []string{"attest/..."}},
	{name: "the bindings import nothing of ours", from: []string{bindings}, only: []string{}, tests: true},
	{name: "the store's file format imports only what writes and locks files", from: []string{"internal/boltstore"}, only: []string{"internal/atomicfile", "internal/filelock"}, tests: true},
	{name: "what writes and locks files imports nothing of ours", from: []string{"internal/atomicfile", "internal/filelock"}, only: []string{}, tests: true},
	{name: "the check of options imports nothing of ours", from: []string{"internal/options"}, only: []string{}},
	{name: "the preparation of command lines imports nothing of ours", from: []string{"internal/arguments"}, only: []string{}},
	{name: "the printing of foreign text imports nothing of ours", from: []string{"internal/printable"}, only: []string{}},
	{name: "what draws on terminals knows no market", from: []string{"internal/screen/..."}, only: []string{"internal/screen"}},
	{name: "waiting imports nothing of ours", from: []string{"internal/wait"}, only: []string{}},
	{name: "the start of processes imports nothing of ours", from: []string{"internal/child"}, only: []string{}},
	{name: "the SDK imports none of the programs", from: []string{"sdk/..."}, never: []string{"client/...", "keeper/...", "agent/...", "gateway/...", "inference/...", "localnet/..."}},
	{name: "the serving of models knows neither customers nor programs", from: []string{"inference/..."}, never: []string{"client/...", "keeper/...", "agent/...", "gateway/..."}, tests: true},
	{name: "client imports neither keepers, agents nor gateways", from: []string{"client/..."}, never: []string{"keeper/...", "agent/...", "gateway/..."}, tests: true},
	{name: "the purchase knows none of its interfaces", from: []string{"client/buy", "client/container", "client/expose"}, never: []string{"client/cli/...", "client/serve", "client/mcp", "inference/...", "client/terminal"}, tests: true},
	{name: "what terminals show knows no command", from: []string{"client/terminal"}, never: []string{"client/cli/...", "client/serve"}, tests: true},
	{name: "servers buy without the command line", from: []string{"client/server", "client/serve", "client/mcp"}, never: []string{"client/cli/..."}, tests: true},
	{name: "what all commands share knows none of them", from: []string{"client/cli/command"}, never: readers, tests: true},
	{name: "commands and wallets of browsers build no instructions: the libraries do", from: []string{"client/cli/...", "client/wallet"}, never: []string{"sdk/market/ix"}},
	{name: "keepers import neither client, agents nor gateways", from: []string{"keeper/..."}, never: []string{"client/...", "agent/...", "gateway/..."}, tests: true},
	{name: "agents import neither client, keepers nor gateways", from: []string{"agent/..."}, never: []string{"client/...", "keeper/...", "gateway/..."}, tests: true},
	{name: "gateways import neither client, keepers nor agents", from: []string{"gateway/..."}, never: []string{"client/...", "keeper/...", "agent/..."}, tests: true},
	{
		name: "the measured guest knows its host, jobs and their images", from: []string{"guest/..."},
		only:  []string{"guest/...", "attest/...", "agent/image", "sdk/jobspec", "sdk/messages", "internal/wait", "internal/child", "internal/testkit/long"},
		tests: true,
	},
	{name: "the page imports nothing of ours", from: []string{"web"}, only: []string{}},
	{
		name: "production code imports no local network and no test helpers",
		from: []string{"..."}, not: []string{"localnet/...", "internal/testkit/..."},
		never: []string{"localnet/...", "internal/testkit/..."},
	},
	{name: "nothing imports a command", from: []string{"..."}, never: []string{".../cmd/..."}, tests: true},
	{name: "examples use what programs of other people can use", from: []string{"examples/..."}, only: []string{"sdk/...", "client/...", "attest/...", bindings}},
	{name: "the market's rules and instructions read no chain", from: []string{"sdk/market", "sdk/market/ix"}, never: []string{"sdk/chain", "sdk/txm", "sdk/watch"}},
}...)

// problem is a broken rule. What names the file and the import or function, and is what an exception is for.
type problem struct{ rule, what, detail string }

func (p problem) String() string {
	s := p.rule + ": " + p.what
	if p.detail != "" {
		s += " (" + p.detail + ")"
	}
	return s
}

// check applies all rules and returns what breaks them, sorted.
func check(all []source, rules []rule) []problem {
	found := slices.Concat(imports(all, rules), cycles(all), names(all), bindingNames(all), lengths(all))
	slices.SortFunc(found, func(a, b problem) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(found)
}

// imports reports imports that a rule forbids, one problem for two packages.
func imports(all []source, rules []rule) []problem {
	var out []problem
	for _, r := range rules {
		for _, s := range all {
			if (s.test && !r.tests) || !matchAny(r.from, s.dir()) || matchAny(r.not, s.dir()) {
				continue
			}
			for _, i := range s.imports {
				if matchAny(r.never, i.dir) || (r.only != nil && !matchAny(r.only, i.dir)) {
					out = append(out, problem{r.name, s.dir() + " imports " + i.dir, ""})
				}
			}
		}
	}
	return out
}

func matchAny(patterns []string, dir string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, dir) })
}

func match(pattern, dir string) bool {
	if p, ok := strings.CutPrefix(pattern, ".../"); ok {
		for at := dir; at != "."; at = path.Dir(at) {
			if match(strings.TrimSuffix(p, "/..."), path.Base(at)) && (strings.HasSuffix(p, "/...") || at == dir) {
				return true
			}
		}
		return false
	}
	base, below := strings.CutSuffix(pattern, "...")
	base = strings.TrimSuffix(base, "/")
	return dir == base || (below && (base == "" || strings.HasPrefix(dir, base+"/")))
}

// cycles reports folders that need each other. Go forbids it of packages; here it is of all that lies below two folders
// of the same parent, so that the arrows of every folder's picture point one way.
func cycles(all []source) []problem {
	edges := map[string]map[string]map[string]string{} // parent, from, to, one import of many
	for _, s := range all {
		if s.test {
			continue
		}
		for _, i := range s.imports {
			parent, from, to := siblings(s.dir(), i.dir)
			if from == to {
				continue
			}
			if edges[parent] == nil {
				edges[parent] = map[string]map[string]string{}
			}
			if edges[parent][from] == nil {
				edges[parent][from] = map[string]string{}
			}
			edges[parent][from][to] = s.dir() + " imports " + i.dir
		}
	}
	var out []problem
	for parent, graph := range edges {
		for _, from := range slices.Sorted(maps.Keys(graph)) {
			if way := shortestCycle(graph, from); way != nil && from == slices.Min(way) {
				out = append(out, problem{"folders import in one direction", strings.Join(way, " → ") + " → " + from, "in " + parent})
			}
		}
	}
	return out
}

// siblings returns the deepest folder that holds both, and which of its children each is in; "." is the folder itself.
// The children of internal have nothing in common, so they count as folders of the top level.
func siblings(a, b string) (parent, inA, inB string) {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	child := func(parts []string) string {
		switch {
		case n == len(parts):
			return "."
		case n == 0 && parts[0] == "internal" && len(parts) > 1:
			return parts[0] + "/" + parts[1]
		default:
			return parts[n]
		}
	}
	return strings.Join(append([]string{"."}, x[:n]...), "/"), child(x), child(y)
}

// shortestCycle returns the nodes of a shortest way from a node back to it, nil when there is none.
func shortestCycle(graph map[string]map[string]string, start string) []string {
	before := map[string]string{}
	for queue := []string{start}; len(queue) > 0; queue = queue[1:] {
		for _, to := range slices.Sorted(maps.Keys(graph[queue[0]])) {
			if to == start {
				way := []string{queue[0]}
				for way[0] != start {
					way = slices.Insert(way, 0, before[way[0]])
				}
				return way
			}
			if _, seen := before[to]; !seen {
				before[to] = queue[0]
				queue = append(queue, to)
			}
		}
	}
	return nil
}

// names reports packages that are not named as their folders.
func names(all []source) []problem {
	var out []problem
	for _, s := range all {
		name := strings.TrimSuffix(s.pkg, "_test")
		if name == "" || name == "main" || name == path.Base(s.dir()) {
			continue
		}
		out = append(out, problem{"a package has the name of its folder", s.dir() + " is package " + name, ""})
	}
	return out
}

// bindingNames reports imports of the bindings under another name.
func bindingNames(all []source) []problem {
	var out []problem
	for _, s := range all {
		for _, i := range s.imports {
			if i.dir == bindings && i.name != "" {
				out = append(out, problem{"the bindings have one name everywhere", s.path + " calls them " + i.name, ""})
			}
		}
	}
	return out
}

// lengths reports production files and functions that are too long.
func lengths(all []source) []problem {
	var out []problem
	for _, s := range all {
		if s.test {
			continue
		}
		if s.lines > maxFileLines {
			out = append(out, problem{"files are short", s.path, fmt.Sprintf("%d lines, at most %d", s.lines, maxFileLines)})
		}
		for _, f := range s.functions {
			if f.lines > maxFunctionLines {
				out = append(out, problem{"functions are short", s.path + " " + f.name, fmt.Sprintf("%d lines, at most %d", f.lines, maxFunctionLines)})
			}
		}
	}
	return out
}
