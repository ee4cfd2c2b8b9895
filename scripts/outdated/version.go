package main

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// version is one of any of the registries, taken apart so that it can be compared.
type version struct {
	numbers []int
	post    int      // Python's releases after a release
	pre     []string // of a release before a release; nil for a stable one
}

var (
	// python is a version as PEP 440 writes it, where that differs from semantic versions.
	python = regexp.MustCompile(`^((?:\d+\.)*\d+)(?:[._-]?(a|b|c|rc|alpha|beta|pre|preview|dev)[._-]?(\d*))?(?:\.post(\d+))?(?:\.dev(\d+))?$`)
	// pseudo is how Go names a commit that has no version.
	pseudo = regexp.MustCompile(`^v\d+\.\d+\.\d+-(?:.*\.)?\d{14}-[0-9a-f]{12}$`)
)

// parseVersion reads a version; false for what is none.
func parseVersion(text string) (v version, ok bool) {
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "v"), "+")
	if m := python.FindStringSubmatch(text); m != nil {
		v.post, _ = strconv.Atoi(m[4])
		switch {
		case m[2] != "":
			v.pre = []string{m[2], m[3]}
		case m[5] != "":
			v.pre = []string{"dev", m[5]}
		}
		text = m[1]
	} else {
		var pre string
		if text, pre, ok = strings.Cut(text, "-"); ok {
			v.pre = strings.Split(pre, ".")
		}
	}
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return version{}, false
		}
		v.numbers = append(v.numbers, n)
	}
	return v, true
}

func (v version) stable() bool { return v.pre == nil }

func (v version) compare(w version) int {
	for i := range max(len(v.numbers), len(w.numbers)) {
		if c := cmp.Compare(at(v.numbers, i), at(w.numbers, i)); c != 0 {
			return c
		}
	}
	if c := cmp.Compare(v.post, w.post); c != 0 {
		return c
	}
	if v.stable() != w.stable() {
		if v.stable() {
			return 1
		}
		return -1
	}
	return slices.CompareFunc(v.pre, w.pre, comparePart)
}

func at(numbers []int, i int) int {
	if i < len(numbers) {
		return numbers[i]
	}
	return 0
}

// comparePart compares parts of a release before a release: numbers are less than words.
func comparePart(a, b string) int {
	n, errA := strconv.Atoi(a)
	m, errB := strconv.Atoi(b)
	switch {
	case errA == nil && errB == nil:
		return cmp.Compare(n, m)
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return cmp.Compare(a, b)
}
