//go:build !race

package nvgpu_test

const raceFactor = 1
