// Package options checks the options that a component is constructed with. A missing dependency is then an error of the
// constructor, instead of a nil pointer later during work.
package options

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// ErrMissing is the error of options without a required field.
var ErrMissing = errors.New("required options are missing")

// Complete returns an error that names the exported fields of a struct of options that have their zero value, apart
// from the optional ones. Booleans are optional always. It panics when an optional field does not exist. Error:
// ErrMissing.
func Complete(component string, o any, optional ...string) error {
	v := reflect.ValueOf(o)
	for _, name := range optional {
		if !v.FieldByName(name).IsValid() {
			panic(fmt.Sprintf("options of %s have no field %s", component, name))
		}
	}
	var missing []string
	for i := range v.NumField() {
		if f := v.Type().Field(i); required(f, optional) && v.Field(i).IsZero() {
			missing = append(missing, f.Name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s: %w: %s", component, ErrMissing, strings.Join(missing, ", "))
	}
	return nil
}

func required(f reflect.StructField, optional []string) bool {
	return f.IsExported() && f.Type.Kind() != reflect.Bool && !slices.Contains(optional, f.Name)
}

// Without calls f once for each required field with a copy of the options in which that field has its zero value. Tests
// of constructors use it.
func Without[O any](o O, optional []string, f func(field string, o O)) {
	t := reflect.TypeFor[O]()
	for i := range t.NumField() {
		if field := t.Field(i); required(field, optional) {
			incomplete := o
			reflect.ValueOf(&incomplete).Elem().Field(i).SetZero()
			f(field.Name, incomplete)
		}
	}
}
