package template

import (
	"fmt"
	"strings"
)

// Find is a template that gantry comes with, by its name, or a file. Errors: those of Load, Builtin and Named.
func Find(text string) (*Template, error) {
	if IsFile(text) {
		return Load(text)
	}
	all, err := Builtin()
	if err != nil {
		return nil, err
	}
	return all.Named(text)
}

// ParseSet reads parameters as PARAMETER=VALUE. Error: ErrParameter.
func ParseSet(pairs []string) (map[string]string, error) {
	set := map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if _, twice := set[key]; !ok || twice {
			return nil, fmt.Errorf("%w: %q is not PARAMETER=VALUE, or the parameter is there twice", ErrParameter, key)
		}
		set[key] = value
	}
	return set, nil
}
