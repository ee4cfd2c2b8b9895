//go:build race

package nvgpu_test

// raceFactor is how many times fewer variants are tried with the race detector, under which signatures take ten times
// as long.
const raceFactor = 11
