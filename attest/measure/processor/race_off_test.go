//go:build !race

package processor

const raced = false
