package messages

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
)

// ErrLimit: a message has more of something than any honest one.
var ErrLimit = errors.New("message exceeds a limit of its content")

// Check compares what a message has of everything with the limits in the tags of its fields: max is how many elements or
// bytes there may be, each how many bytes an element, or a key and its value, may have. A message that is small enough to
// be read may still hold a hundred thousand GPUs. Error: ErrLimit.
func Check(m any) error {
	v := reflect.ValueOf(m)
	return limitsOf(v.Type()).check(v)
}

// limits are those of a type.
type limits struct {
	elem   *limits // of what a pointer points to, or of each element
	fields []fieldLimits
}

type fieldLimits struct {
	index     int
	name      string
	max, each string // as in the tags
	inner     *limits
}

// limitsOf is nil for a type without limits. No message contains one of its own type.
func limitsOf(t reflect.Type) *limits {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		if elem := limitsOf(t.Elem()); elem != nil {
			return &limits{elem: elem}
		}
	case reflect.Struct:
		var l limits
		for i := range t.NumField() {
			f := t.Field(i)
			inner := limitsOf(f.Type)
			if most := f.Tag.Get("max"); most != "" || inner != nil {
				l.fields = append(l.fields, fieldLimits{i, f.Name, most, f.Tag.Get("each"), inner})
			}
		}
		if len(l.fields) > 0 {
			return &l
		}
	}
	return nil
}

func (l *limits) check(v reflect.Value) error {
	switch {
	case l == nil, v.Kind() == reflect.Pointer && v.IsNil():
		return nil
	case v.Kind() == reflect.Pointer:
		return l.elem.check(v.Elem())
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			if err := l.elem.check(v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range l.fields {
		if err := l.fields[i].check(v.Field(l.fields[i].index)); err != nil {
			return err
		}
	}
	return nil
}

func (f *fieldLimits) check(v reflect.Value) error {
	if err := f.atMost(f.max, v); err != nil {
		return err
	}
	if f.each != "" && v.Kind() == reflect.Slice {
		for i := range v.Len() {
			if err := f.atMost(f.each, v.Index(i)); err != nil {
				return err
			}
		}
	}
	if f.each != "" && v.Kind() == reflect.Map {
		for entry := v.MapRange(); entry.Next(); {
			if err := errors.Join(f.atMost(f.each, entry.Key()), f.atMost(f.each, entry.Value())); err != nil {
				return err
			}
		}
	}
	return f.inner.check(v)
}

// atMost compares a length with a limit, if there is one.
func (f *fieldLimits) atMost(limit string, v reflect.Value) error {
	if limit == "" {
		return nil
	}
	most, err := strconv.Atoi(limit)
	if err != nil {
		return fmt.Errorf("%s: limit %q: %w", f.name, limit, err)
	}
	if n := v.Len(); n > most {
		return fmt.Errorf("%s has %d, at most %d: %w", f.name, n, most, ErrLimit)
	}
	return nil
}
