package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// maxAnswer bounds an answer of a registry; npm's are tens of megabytes for old packages.
const maxAnswer = 128 << 20

// errSilent: a registry could not be reached, or did not answer as it does.
var errSilent = errors.New("no answer")

// registries are where releases come from. The addresses are fields for tests.
type registries struct {
	client                  *http.Client
	crates, npm, pypi, rust string
	goEnv                   []string
}

func public() registries {
	return registries{
		client: &http.Client{Timeout: time.Minute},
		crates: "https://index.crates.io", npm: "https://registry.npmjs.org", pypi: "https://pypi.org", rust: "https://static.rust-lang.org",
	}
}

// find looks a pin up.
func (r registries) find(ctx context.Context, p pin, now time.Time) finding {
	ask := map[string]func(context.Context, pin, time.Time) ([]release, error){
		"go": r.goReleases, "crates": r.crateReleases, "npm": r.npmReleases, "pypi": r.pythonReleases, "rust": r.rustReleases,
	}[p.registry]
	f := finding{pin: p}
	var all []release
	if all, f.err = ask(ctx, p, now); f.err != nil || p.registry == "rust" || pseudo.MatchString(p.version) {
		f.newer = all // these are not compared by their versions
		return f
	}
	f.newer, f.err = replacements(p, all)
	return f
}

func (r registries) get(ctx context.Context, address string) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("User-Agent", "gantry-outdated (github.com/gantry-market/gantry)")
	answer, err := r.client.Do(q)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSilent, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: %s says %s", errSilent, address, answer.Status)
	}
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errSilent, address, err)
	}
	return raw, nil
}

// module is what the go command says of one.
type module struct {
	Path, Version string
	Time          time.Time
	Versions      []string
	Error         *struct{ Err string }
}

func (r registries) goList(ctx context.Context, args ...string) ([]module, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-m", "-e", "-json"}, args...)...)
	cmd.Env = append(cmd.Environ(), r.goEnv...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: go list: %w: %s", errSilent, err, bytes.TrimSpace(said.Bytes()))
	}
	var all []module
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m module
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if m.Error != nil {
			return nil, fmt.Errorf("%w: %s", errSilent, strings.ReplaceAll(m.Error.Err, "\n", " "))
		}
		all = append(all, m)
	}
}

// goReleases are the versions that are not retracted. A commit without a version is compared with the newest commit.
func (r registries) goReleases(ctx context.Context, p pin, _ time.Time) ([]release, error) {
	query := []string{"-versions", p.name + "@" + p.version}
	if pseudo.MatchString(p.version) {
		query = []string{p.name + "@" + p.version, p.name + "@latest"}
	}
	found, err := r.goList(ctx, query...)
	if err != nil {
		return nil, err
	}
	if pseudo.MatchString(p.version) {
		if len(found) < 2 || !found[1].Time.After(found[0].Time) {
			return nil, nil
		}
		// There are commits all the time, so that something newer has been there since about then.
		return []release{{found[1].Version, found[0].Time}}, nil
	}
	all := []release{}
	for _, v := range found[0].Versions {
		all = append(all, release{version: v})
	}
	newer, err := replacements(p, all)
	if err != nil || len(newer) == 0 {
		return nil, err
	}
	query = nil
	for _, n := range newer {
		query = append(query, p.name+"@"+n.version)
	}
	if found, err = r.goList(ctx, query...); err != nil {
		return nil, err
	}
	all = nil
	for _, m := range found {
		all = append(all, release{m.Version, m.Time})
	}
	return all, nil
}

// crateReleases reads the index that cargo reads, whose lines have had the time for a while, those of old versions too.
func (r registries) crateReleases(ctx context.Context, p pin, _ time.Time) ([]release, error) {
	name := strings.ToLower(p.name)
	folder := map[int]string{1: "1", 2: "2", 3: "3/" + name[:1]}[len(name)]
	if folder == "" {
		folder = name[:2] + "/" + name[2:4]
	}
	raw, err := r.get(ctx, r.crates+"/"+folder+"/"+name)
	if err != nil {
		return nil, err
	}
	var all []release
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		var one struct {
			Vers    string
			Yanked  bool
			Pubtime time.Time
		}
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("%w: the index of %s: %w", errSilent, p.name, err)
		}
		if one.Pubtime.IsZero() {
			return nil, fmt.Errorf("%w: the index has no time for %s %s", errSilent, p.name, one.Vers)
		}
		if !one.Yanked {
			all = append(all, release{one.Vers, one.Pubtime})
		}
	}
	return all, lines.Err()
}

// npmReleases are the versions up to the one that is tagged as the latest, without those that their authors warn of.
func (r registries) npmReleases(ctx context.Context, p pin, _ time.Time) ([]release, error) {
	raw, err := r.get(ctx, r.npm+"/"+url.PathEscape(p.name))
	if err != nil {
		return nil, err
	}
	var doc struct {
		Tags     map[string]string `json:"dist-tags"`
		Time     map[string]time.Time
		Versions map[string]struct{ Deprecated any }
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("%w: the document of %s: %w", errSilent, p.name, err)
	}
	latest, ok := parseVersion(doc.Tags["latest"])
	if !ok {
		return nil, fmt.Errorf("%w: %s has no latest version", errSilent, p.name)
	}
	var all []release
	for text, about := range doc.Versions {
		v, ok := parseVersion(text)
		warned := about.Deprecated != nil && about.Deprecated != false && about.Deprecated != ""
		if ok && !warned && v.compare(latest) <= 0 {
			all = append(all, release{text, doc.Time[text]})
		}
	}
	return all, nil
}

func (r registries) pythonReleases(ctx context.Context, p pin, _ time.Time) ([]release, error) {
	raw, err := r.get(ctx, r.pypi+"/pypi/"+url.PathEscape(p.name)+"/json")
	if err != nil {
		return nil, err
	}
	var doc struct {
		Releases map[string][]struct {
			At     time.Time `json:"upload_time_iso_8601"`
			Yanked bool
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("%w: the document of %s: %w", errSilent, p.name, err)
	}
	var all []release
	for v, files := range doc.Releases {
		if len(files) > 0 && !files[0].Yanked {
			all = append(all, release{v, files[0].At})
		}
	}
	return all, nil
}

// rustReleases: of a stable compiler, the next one; of one of a day, that of today.
func (r registries) rustReleases(ctx context.Context, p pin, now time.Time) ([]release, error) {
	if day, ok := strings.CutPrefix(p.version, "nightly-"); ok {
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			return nil, fmt.Errorf("the day of %s: %w", p.version, err)
		}
		return []release{{"nightly-" + now.Format(time.DateOnly), at.AddDate(0, 0, 1)}}, nil
	}
	v, ok := parseVersion(p.version)
	if !ok || len(v.numbers) != 3 {
		return nil, fmt.Errorf("%s is not a version of Rust", p.version)
	}
	stable, at, err := r.rustChannel(ctx, "stable")
	if err != nil {
		return nil, err
	}
	if w, ok := parseVersion(stable); !ok || w.compare(v) <= 0 {
		return nil, nil
	}
	if next := fmt.Sprintf("%d.%d.0", v.numbers[0], v.numbers[1]+1); !strings.HasPrefix(stable, fmt.Sprintf("%d.%d.", v.numbers[0], v.numbers[1])) {
		if _, first, err := r.rustChannel(ctx, next); err == nil {
			at = first
		}
	}
	return []release{{stable, at}}, nil
}

// rustChannel is the version of a channel, and its day.
func (r registries) rustChannel(ctx context.Context, channel string) (text string, at time.Time, err error) {
	raw, err := r.get(ctx, r.rust+"/dist/channel-rust-"+channel+".toml")
	if err != nil {
		return "", at, err
	}
	_, rest, found := strings.Cut(string(raw), "\n[pkg.rust]\nversion = ")
	line, _, _ := strings.Cut(rest, "\n")
	quoted, err := strconv.Unquote(line)
	if !found || err != nil {
		return "", at, fmt.Errorf("%w: the manifest of Rust %s names no version", errSilent, channel)
	}
	text, _, _ = strings.Cut(quoted, " ")
	_, rest, _ = strings.Cut(string(raw), "\ndate = \"")
	day, _, _ := strings.Cut(rest, "\"")
	if at, err = time.Parse(time.DateOnly, day); err != nil {
		return "", at, fmt.Errorf("%w: the manifest of Rust %s: %w", errSilent, channel, err)
	}
	return text, at, nil
}
