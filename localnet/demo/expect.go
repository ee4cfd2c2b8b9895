package demo

import (
	"fmt"
	"slices"
	"sync"
)

// expectations collects what was expected and whether it held. Its methods may be called from several goroutines.
type expectations struct {
	mu     sync.Mutex
	held   int
	failed []string
}

// that notes an expectation; the detail is shown when it fails.
func (e *expectations) that(ok bool, what string, detail ...any) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if ok {
		e.held++
		return true
	}
	if len(detail) > 0 {
		what += fmt.Sprintf(": "+fmt.Sprint(detail[0]), detail[1:]...)
	}
	e.failed = append(e.failed, what)
	return false
}

// equal notes that two figures must be the same.
func equal[T comparable](e *expectations, got, want T, what string) bool {
	return e.that(got == want, what, "got %v, expected %v", got, want)
}

// result returns how many expectations held, and the names of those that did not.
func (e *expectations) result() (int, []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.held, slices.Clone(e.failed)
}
