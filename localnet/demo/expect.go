package demo

import (
	"fmt"
	"slices"
	"sync"
)

// book collects what was expected and whether it held. Its methods may be called from several goroutines.
type book struct {
	mu     sync.Mutex
	held   int
	failed []string
}

// expect notes an expectation; the detail is shown when it fails.
func (b *book) expect(ok bool, what string, detail ...any) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ok {
		b.held++
		return true
	}
	if len(detail) > 0 {
		what += fmt.Sprintf(": "+fmt.Sprint(detail[0]), detail[1:]...)
	}
	b.failed = append(b.failed, what)
	return false
}

// equal notes that two figures must be the same.
func equal[T comparable](b *book, got, want T, what string) bool {
	return b.expect(got == want, what, "got %v, expected %v", got, want)
}

// result returns how many expectations held, and the names of those that did not.
func (b *book) result() (int, []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held, slices.Clone(b.failed)
}
